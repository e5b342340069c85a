#include "runtime/inprocess/session/control_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/posix/own_call.h"
#include "runtime/inprocess/process/file_size_limit.h"
#include "runtime/inprocess/process/process_state.h"
#include "runtime/inprocess/process/start_values.h"
#include "runtime/inprocess/session/session_membership.h"
#include "runtime/inprocess/sites/hook_sites.h"
#include "runtime/pid_namespace.h"

namespace countrace::runtime {

namespace {

char g_path[64];           // of the file; "" = none
std::int32_t g_owner_pid;  // a forked child must not remove its parent's file
ControlPage* g_page;       // in a forked child: still its parent's

// Allocates the blocks now: with a full tmpfs, a later write would be a SIGBUS.
ControlPage* MapNewFile(const char* path) noexcept {
  const long fd =
      base::OwnCall(SYS_openat, AT_FDCWD, path,
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (FileMayHave(kControlPageBytes) &&
      base::OwnCall(SYS_fallocate, fd, 0, 0L, kControlPageBytes) == 0) {
    memory = base::OwnMap(nullptr, kControlPageBytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, static_cast<int>(fd), 0);
  }
  base::OwnCall(SYS_close, fd);
  if (memory != MAP_FAILED) return static_cast<ControlPage*>(memory);
  base::OwnCall(SYS_unlinkat, AT_FDCWD, path);
  return nullptr;
}

const char* Choice() noexcept {
  const char* chosen = EnvironmentValue("COUNTRACE_CONTROL");
  return chosen != nullptr ? chosen : "";
}

bool IsSwitchedOff() noexcept {
  return strcmp(Choice(), "off") == 0 || HasRaisedRights();
}

void Answer(ControlPage& page) noexcept {
  char argument[kControlPathBytes];
  memcpy(argument, page.argument, sizeof(argument));
  argument[sizeof(argument) - 1] = '\0';
  page.text_bytes = 0;
  page.next_site = 0;
  int error = 0;
  switch (page.command) {
    case ControlCommand::kJoin:
      page.status = JoinSession(argument, &error);
      break;
    case ControlCommand::kList:
      page.status = ControlStatus::kOk;
      page.text_bytes = static_cast<std::uint32_t>(ListSites(
          page.from_site, page.text, sizeof(page.text), &page.next_site));
      break;
    case ControlCommand::kEnable:
    case ControlCommand::kDisable:
      page.status =
          SwitchSites(argument, page.command == ControlCommand::kEnable);
      break;
    default:
      page.status = ControlStatus::kUnknownCommand;
      break;
  }
  page.error = static_cast<std::uint32_t>(error);
  memset(page.session, 0, sizeof(page.session));
  if (SessionIsMapped()) {
    memcpy(page.session, g_session_path, strlen(g_session_path));
  }
}

}  // namespace

ControlPage* CreateControlPage(std::int32_t pid) noexcept {
  if (IsSwitchedOff()) return nullptr;
  if (g_page != nullptr) base::OwnCall(SYS_munmap, g_page, kControlPageBytes);
  g_page = nullptr;
  for (const char* folder : kControlFolders) {
    char fresh[sizeof(g_path)];
    char path[sizeof(g_path)];
    snprintf(fresh, sizeof(fresh), "%s/.%snew-%d", folder, kControlPrefix, pid);
    snprintf(path, sizeof(path), "%s/%s%d", folder, kControlPrefix, pid);
    base::OwnCall(SYS_unlinkat, AT_FDCWD,
                  fresh);  // left by a killed process that had this pid
    ControlPage* page = MapNewFile(fresh);
    if (page == nullptr) continue;
    page->magic = kControlMagic;
    page->bytes = sizeof(ControlPage);
    page->pid = pid;
    page->pid_namespace = OwnPidNamespace();
    // The page is complete before its name exists. Replaces the file of an
    // earlier process with this pid, or of this process before an exec.
    if (base::OwnCall(SYS_renameat, AT_FDCWD, fresh, AT_FDCWD, path) == 0) {
      memcpy(g_path, path, sizeof(path));
      g_owner_pid = pid;
      g_page = page;
      return page;
    }
    base::OwnCall(SYS_munmap, page, kControlPageBytes);
    base::OwnCall(SYS_unlinkat, AT_FDCWD, fresh);
  }
  return nullptr;
}

bool ForksAreControlled() noexcept { return strcmp(Choice(), "forks") == 0; }

void RemoveControlPage() noexcept {
  if (g_path[0] == '\0' || g_owner_pid != base::OwnCall(SYS_getpid)) return;
  const int saved_errno = errno;
  base::OwnCall(SYS_unlinkat, AT_FDCWD, g_path);
  errno = saved_errno;
}

bool AnswerControlRequest(ControlPage& page) noexcept {
  // Acquire: pairs with the controller's store of `request`, its last one.
  const std::uint32_t request =
      page.request.load(std::memory_order_acquire) & kRequestNumberMask;
  if (request == page.reply.load(std::memory_order_relaxed)) return false;
  Answer(page);
  page.reply.store(request, std::memory_order_release);
  base::OwnCall(SYS_futex, &page.reply, FUTEX_WAKE, INT_MAX, nullptr, nullptr,
                0);
  return true;
}

}  // namespace countrace::runtime
