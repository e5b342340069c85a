// More than 400 lines: one table.
#include "logformat/read/call_flags.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_format.h"
#include "logformat/system_call_exit.h"

namespace countrace::logformat {

namespace {

using Name = NumberName;
using NameSet = NumberNames;
#define NAME(value) \
  { static_cast<std::uint64_t>(value), #value }

constexpr std::uint64_t kAll = ~std::uint64_t{0};

constexpr Name kFolder[] = {{static_cast<std::uint32_t>(AT_FDCWD), "AT_FDCWD"}};
constexpr Name kOpen[] = {
    NAME(O_RDONLY),  NAME(O_WRONLY),   NAME(O_RDWR),      NAME(O_TMPFILE),
    NAME(O_CREAT),   NAME(O_EXCL),     NAME(O_NOCTTY),    NAME(O_TRUNC),
    NAME(O_APPEND),  NAME(O_NONBLOCK), NAME(O_SYNC),      NAME(O_DSYNC),
    NAME(O_ASYNC),   NAME(O_DIRECT),   NAME(O_DIRECTORY), NAME(O_NOFOLLOW),
    NAME(O_NOATIME), NAME(O_CLOEXEC),  NAME(O_PATH)};
constexpr Name kAt[] = {NAME(AT_SYMLINK_NOFOLLOW), NAME(AT_SYMLINK_FOLLOW),
                        NAME(AT_NO_AUTOMOUNT),     NAME(AT_EMPTY_PATH),
                        NAME(AT_STATX_FORCE_SYNC), NAME(AT_STATX_DONT_SYNC)};
constexpr Name kUnlinkAt[] = {NAME(AT_REMOVEDIR)};
constexpr Name kAccessAt[] = {NAME(AT_EACCESS), NAME(AT_SYMLINK_NOFOLLOW),
                              NAME(AT_EMPTY_PATH)};
constexpr Name kAccess[] = {NAME(F_OK), NAME(R_OK), NAME(W_OK), NAME(X_OK)};
constexpr Name kRename[] = {NAME(RENAME_NOREPLACE), NAME(RENAME_EXCHANGE),
                            NAME(RENAME_WHITEOUT)};
constexpr Name kProtection[] = {NAME(PROT_NONE), NAME(PROT_READ),
                                NAME(PROT_WRITE), NAME(PROT_EXEC)};
constexpr Name kMap[] = {
    NAME(MAP_SHARED),    NAME(MAP_PRIVATE),        NAME(MAP_SHARED_VALIDATE),
    NAME(MAP_FIXED),     NAME(MAP_ANONYMOUS),      NAME(MAP_GROWSDOWN),
    NAME(MAP_DENYWRITE), NAME(MAP_LOCKED),         NAME(MAP_NORESERVE),
    NAME(MAP_POPULATE),  NAME(MAP_NONBLOCK),       NAME(MAP_STACK),
    NAME(MAP_HUGETLB),   NAME(MAP_FIXED_NOREPLACE)};
constexpr Name kRemap[] = {NAME(MREMAP_MAYMOVE), NAME(MREMAP_FIXED),
                           NAME(MREMAP_DONTUNMAP)};
constexpr Name kSyncMap[] = {NAME(MS_ASYNC), NAME(MS_INVALIDATE),
                             NAME(MS_SYNC)};
constexpr Name kAdvice[] = {
    NAME(MADV_NORMAL),   NAME(MADV_RANDOM),     NAME(MADV_SEQUENTIAL),
    NAME(MADV_WILLNEED), NAME(MADV_DONTNEED),   NAME(MADV_FREE),
    NAME(MADV_REMOVE),   NAME(MADV_DONTFORK),   NAME(MADV_DOFORK),
    NAME(MADV_HUGEPAGE), NAME(MADV_NOHUGEPAGE), NAME(MADV_DONTDUMP),
    NAME(MADV_DODUMP),   NAME(MADV_COLD),       NAME(MADV_PAGEOUT)};
constexpr Name kFileAdvice[] = {
    NAME(POSIX_FADV_NORMAL),     NAME(POSIX_FADV_RANDOM),
    NAME(POSIX_FADV_SEQUENTIAL), NAME(POSIX_FADV_WILLNEED),
    NAME(POSIX_FADV_DONTNEED),   NAME(POSIX_FADV_NOREUSE)};
constexpr Name kAllocate[] = {
    NAME(FALLOC_FL_KEEP_SIZE), NAME(FALLOC_FL_PUNCH_HOLE),
    NAME(FALLOC_FL_COLLAPSE_RANGE), NAME(FALLOC_FL_ZERO_RANGE)};
constexpr Name kSeek[] = {NAME(SEEK_SET), NAME(SEEK_CUR), NAME(SEEK_END),
                          NAME(SEEK_DATA), NAME(SEEK_HOLE)};
constexpr Name kLock[] = {NAME(LOCK_SH), NAME(LOCK_EX), NAME(LOCK_UN),
                          NAME(LOCK_NB)};
constexpr Name kControl[] = {
    NAME(F_DUPFD),         NAME(F_GETFD),      NAME(F_SETFD),
    NAME(F_GETFL),         NAME(F_SETFL),      NAME(F_GETLK),
    NAME(F_SETLK),         NAME(F_SETLKW),     NAME(F_SETOWN),
    NAME(F_GETOWN),        NAME(F_SETSIG),     NAME(F_GETSIG),
    NAME(F_OFD_GETLK),     NAME(F_OFD_SETLK),  NAME(F_OFD_SETLKW),
    NAME(F_DUPFD_CLOEXEC), NAME(F_SETPIPE_SZ), NAME(F_GETPIPE_SZ),
    NAME(F_ADD_SEALS),     NAME(F_GET_SEALS)};
constexpr Name kDevice[] = {NAME(TCGETS),     NAME(TCSETS),     NAME(TCSETSW),
                            NAME(TCSETSF),    NAME(TIOCGPGRP),  NAME(TIOCSPGRP),
                            NAME(TIOCGWINSZ), NAME(TIOCSWINSZ), NAME(TIOCSCTTY),
                            NAME(TIOCNOTTY),  NAME(FIONREAD),   NAME(FIONBIO),
                            NAME(FIOCLEX),    NAME(FIONCLEX),   NAME(FICLONE)};
constexpr Name kFamily[] = {
    NAME(AF_UNSPEC),    NAME(AF_UNIX),   NAME(AF_INET), NAME(AF_INET6),
    NAME(AF_NETLINK),   NAME(AF_PACKET), NAME(AF_ALG),  NAME(AF_VSOCK),
    NAME(AF_BLUETOOTH), NAME(AF_XDP),    NAME(AF_KEY),  NAME(AF_CAN)};
constexpr Name kSocket[] = {NAME(SOCK_STREAM),  NAME(SOCK_DGRAM),
                            NAME(SOCK_RAW),     NAME(SOCK_SEQPACKET),
                            NAME(SOCK_CLOEXEC), NAME(SOCK_NONBLOCK)};
constexpr Name kMessage[] = {
    NAME(MSG_OOB),      NAME(MSG_PEEK),        NAME(MSG_DONTROUTE),
    NAME(MSG_TRUNC),    NAME(MSG_DONTWAIT),    NAME(MSG_EOR),
    NAME(MSG_WAITALL),  NAME(MSG_CONFIRM),     NAME(MSG_ERRQUEUE),
    NAME(MSG_NOSIGNAL), NAME(MSG_MORE),        NAME(MSG_WAITFORONE),
    NAME(MSG_FASTOPEN), NAME(MSG_CMSG_CLOEXEC)};
constexpr Name kShutdown[] = {NAME(SHUT_RD), NAME(SHUT_WR), NAME(SHUT_RDWR)};
constexpr Name kLevel[] = {NAME(SOL_SOCKET),
                           {0, "SOL_IP"},
                           {6, "SOL_TCP"},
                           {17, "SOL_UDP"},
                           {41, "SOL_IPV6"}};
constexpr Name kPollControl[] = {NAME(EPOLL_CTL_ADD), NAME(EPOLL_CTL_DEL),
                                 NAME(EPOLL_CTL_MOD)};
constexpr Name kPollCreate[] = {NAME(EPOLL_CLOEXEC)};
constexpr Name kEvent[] = {NAME(EFD_SEMAPHORE), NAME(EFD_CLOEXEC),
                           NAME(EFD_NONBLOCK)};
constexpr Name kTimerFile[] = {NAME(TFD_CLOEXEC), NAME(TFD_NONBLOCK)};
constexpr Name kTimerSet[] = {NAME(TFD_TIMER_ABSTIME)};
constexpr Name kMemoryFile[] = {NAME(MFD_CLOEXEC), NAME(MFD_ALLOW_SEALING),
                                NAME(MFD_HUGETLB)};
constexpr Name kNotifyCreate[] = {NAME(IN_CLOEXEC), NAME(IN_NONBLOCK)};
constexpr Name kNotify[] = {
    NAME(IN_ACCESS),      NAME(IN_MODIFY),        NAME(IN_ATTRIB),
    NAME(IN_CLOSE_WRITE), NAME(IN_CLOSE_NOWRITE), NAME(IN_OPEN),
    NAME(IN_MOVED_FROM),  NAME(IN_MOVED_TO),      NAME(IN_CREATE),
    NAME(IN_DELETE),      NAME(IN_DELETE_SELF),   NAME(IN_MOVE_SELF),
    NAME(IN_ONLYDIR),     NAME(IN_DONT_FOLLOW),   NAME(IN_MASK_ADD)};
constexpr Name kRandom[] = {NAME(GRND_NONBLOCK), NAME(GRND_RANDOM)};
constexpr Name kMask[] = {NAME(SIG_BLOCK), NAME(SIG_UNBLOCK),
                          NAME(SIG_SETMASK)};
constexpr Name kSignal[] = {
    NAME(SIGHUP),    NAME(SIGINT),  NAME(SIGQUIT),   NAME(SIGILL),
    NAME(SIGTRAP),   NAME(SIGABRT), NAME(SIGBUS),    NAME(SIGFPE),
    NAME(SIGKILL),   NAME(SIGUSR1), NAME(SIGSEGV),   NAME(SIGUSR2),
    NAME(SIGPIPE),   NAME(SIGALRM), NAME(SIGTERM),   NAME(SIGCHLD),
    NAME(SIGCONT),   NAME(SIGSTOP), NAME(SIGTSTP),   NAME(SIGTTIN),
    NAME(SIGTTOU),   NAME(SIGURG),  NAME(SIGXCPU),   NAME(SIGXFSZ),
    NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGWINCH),  NAME(SIGIO),
    NAME(SIGPWR),    NAME(SIGSYS),  {32, "SIGRT_0"}, {33, "SIGRT_1"}};
constexpr Name kClone[] = {NAME(SIGCHLD),
                           NAME(CLONE_VM),
                           NAME(CLONE_FS),
                           NAME(CLONE_FILES),
                           NAME(CLONE_SIGHAND),
                           NAME(CLONE_PTRACE),
                           NAME(CLONE_VFORK),
                           NAME(CLONE_PARENT),
                           NAME(CLONE_THREAD),
                           NAME(CLONE_NEWNS),
                           NAME(CLONE_SYSVSEM),
                           NAME(CLONE_SETTLS),
                           NAME(CLONE_PARENT_SETTID),
                           NAME(CLONE_CHILD_CLEARTID),
                           NAME(CLONE_CHILD_SETTID),
                           NAME(CLONE_NEWCGROUP),
                           NAME(CLONE_NEWUTS),
                           NAME(CLONE_NEWIPC),
                           NAME(CLONE_NEWUSER),
                           NAME(CLONE_NEWPID),
                           NAME(CLONE_NEWNET)};
constexpr Name kWait[] = {NAME(WNOHANG), NAME(WUNTRACED), NAME(WEXITED),
                          NAME(WCONTINUED), NAME(WNOWAIT)};
constexpr Name kWaitWhich[] = {NAME(P_ALL), NAME(P_PID), NAME(P_PGID),
                               NAME(P_PIDFD)};
constexpr Name kFutex[] = {
    NAME(FUTEX_WAIT),         NAME(FUTEX_WAKE),
    NAME(FUTEX_REQUEUE),      NAME(FUTEX_CMP_REQUEUE),
    NAME(FUTEX_WAKE_OP),      NAME(FUTEX_LOCK_PI),
    NAME(FUTEX_UNLOCK_PI),    NAME(FUTEX_TRYLOCK_PI),
    NAME(FUTEX_WAIT_BITSET),  NAME(FUTEX_WAKE_BITSET),
    NAME(FUTEX_PRIVATE_FLAG), NAME(FUTEX_CLOCK_REALTIME)};
constexpr Name kClock[] = {
    NAME(CLOCK_REALTIME),           NAME(CLOCK_MONOTONIC),
    NAME(CLOCK_PROCESS_CPUTIME_ID), NAME(CLOCK_THREAD_CPUTIME_ID),
    NAME(CLOCK_MONOTONIC_RAW),      NAME(CLOCK_REALTIME_COARSE),
    NAME(CLOCK_MONOTONIC_COARSE),   NAME(CLOCK_BOOTTIME)};
constexpr Name kSleep[] = {NAME(TIMER_ABSTIME)};
constexpr Name kLimit[] = {
    NAME(RLIMIT_CPU),   NAME(RLIMIT_FSIZE),  NAME(RLIMIT_DATA),
    NAME(RLIMIT_STACK), NAME(RLIMIT_CORE),   NAME(RLIMIT_RSS),
    NAME(RLIMIT_NPROC), NAME(RLIMIT_NOFILE), NAME(RLIMIT_MEMLOCK),
    NAME(RLIMIT_AS),    NAME(RLIMIT_LOCKS),  NAME(RLIMIT_SIGPENDING)};
constexpr Name kProcess[] = {NAME(PR_SET_PDEATHSIG),
                             NAME(PR_SET_NAME),
                             NAME(PR_GET_NAME),
                             NAME(PR_SET_DUMPABLE),
                             NAME(PR_GET_DUMPABLE),
                             NAME(PR_SET_SECCOMP),
                             NAME(PR_CAPBSET_READ),
                             NAME(PR_CAPBSET_DROP),
                             NAME(PR_SET_MM),
                             NAME(PR_SET_NO_NEW_PRIVS),
                             NAME(PR_SET_CHILD_SUBREAPER),
                             {0x53564d41, "PR_SET_VMA"}};
constexpr Name kStatMask[] = {NAME(STATX_ALL),  NAME(STATX_BASIC_STATS),
                              NAME(STATX_TYPE), NAME(STATX_MODE),
                              NAME(STATX_SIZE), NAME(STATX_MTIME),
                              NAME(STATX_INO),  NAME(STATX_BTIME)};
constexpr Name kMount[] = {NAME(MS_RDONLY),  NAME(MS_NOSUID),  NAME(MS_NODEV),
                           NAME(MS_NOEXEC),  NAME(MS_REMOUNT), NAME(MS_BIND),
                           NAME(MS_MOVE),    NAME(MS_REC),     NAME(MS_SILENT),
                           NAME(MS_PRIVATE), NAME(MS_SLAVE),   NAME(MS_SHARED)};
constexpr Name kUnmount[] = {NAME(MNT_FORCE), NAME(MNT_DETACH),
                             NAME(MNT_EXPIRE), NAME(UMOUNT_NOFOLLOW)};
#undef NAME

constexpr NameSet kFolders = {kAll, kFolder}, kOpens = {O_ACCMODE, kOpen},
                  kAts = {0, kAt}, kMaps = {MAP_TYPE, kMap},
                  kSockets = {15, kSocket}, kMessages = {0, kMessage},
                  kSignals = {kAll, kSignal}, kClones = {255, kClone},
                  kFamilies = {kAll, kFamily}, kClocks = {kAll, kClock},
                  kLimits = {kAll, kLimit}, kProtections = {0, kProtection},
                  kWaits = {0, kWait}, kDescriptorFlags = {0, kPollCreate},
                  kOctal = {0, {}}, kErrors = {kAll, {}};

// By call and argument. A call that ends in `*` stands for all that begin so.
struct NamedArgument {
  std::string_view call, argument;
  NameSet names;
};
constexpr NamedArgument kArguments[] = {
    {"*", "dfd", kFolders},
    {"*", "olddfd", kFolders},
    {"*", "newdfd", kFolders},
    {"*", "from_dfd", kFolders},
    {"*", "to_dfd", kFolders},
    {"access", "mode", {0, kAccess}},
    {"faccessat*", "mode", {0, kAccess}},
    {"faccessat2", "flags", {0, kAccessAt}},
    {"fallocate", "mode", {0, kAllocate}},
    {"open*", "mode", kOctal},
    {"creat", "mode", kOctal},
    {"mkdir*", "mode", kOctal},
    {"mknod*", "mode", kOctal},
    {"chmod", "mode", kOctal},
    {"fchmod*", "mode", kOctal},
    {"mq_open", "mode", kOctal},
    {"umask", "mask", kOctal},
    {"open", "flags", kOpens},
    {"openat", "flags", kOpens},
    {"open_by_handle_at", "flags", kOpens},
    {"mq_open", "oflag", kOpens},
    {"dup3", "flags", kOpens},
    {"pipe2", "flags", kOpens},
    {"unlinkat", "flag", {0, kUnlinkAt}},
    {"execveat", "flags", kAts},
    {"statx", "flags", kAts},
    {"statx", "mask", {0, kStatMask}},
    {"linkat", "flags", kAts},
    {"utimensat", "flags", kAts},
    {"newfstatat", "flag", kAts},
    {"fchownat", "flag", kAts},
    {"fchmodat2", "flags", kAts},
    {"name_to_handle_at", "flag", kAts},
    {"renameat2", "flags", {0, kRename}},
    {"mmap", "prot", kProtections},
    {"mmap", "flags", kMaps},
    {"mprotect", "prot", kProtections},
    {"pkey_mprotect", "prot", kProtections},
    {"mremap", "flags", {0, kRemap}},
    {"msync", "flags", {0, kSyncMap}},
    {"madvise", "behavior", {kAll, kAdvice}},
    {"fadvise64", "advice", {kAll, kFileAdvice}},
    {"lseek", "whence", {kAll, kSeek}},
    {"flock", "cmd", {0, kLock}},
    {"fcntl", "cmd", {kAll, kControl}},
    {"ioctl", "cmd", {kAll, kDevice}},
    {"socket", "family", kFamilies},
    {"socket", "type", kSockets},
    {"socketpair", "family", kFamilies},
    {"socketpair", "type", kSockets},
    {"accept4", "flags", {0, kSocket}},
    {"sendto", "flags", kMessages},
    {"recvfrom", "flags", kMessages},
    {"sendmsg", "flags", kMessages},
    {"recvmsg", "flags", kMessages},
    {"sendmmsg", "flags", kMessages},
    {"recvmmsg", "flags", kMessages},
    {"shutdown", "how", {kAll, kShutdown}},
    {"setsockopt", "level", {kAll, kLevel}},
    {"getsockopt", "level", {kAll, kLevel}},
    {"epoll_ctl", "op", {kAll, kPollControl}},
    {"epoll_create1", "flags", kDescriptorFlags},
    {"eventfd2", "flags", {0, kEvent}},
    {"timerfd_create", "clockid", kClocks},
    {"timerfd_create", "flags", {0, kTimerFile}},
    {"timerfd_settime", "flags", {0, kTimerSet}},
    {"memfd_create", "flags", {0, kMemoryFile}},
    {"inotify_init1", "flags", {0, kNotifyCreate}},
    {"inotify_add_watch", "mask", {0, kNotify}},
    {"getrandom", "flags", {0, kRandom}},
    {"rt_sigprocmask", "how", {kAll, kMask}},
    {"rt_sigaction", "sig", kSignals},
    {"rt_sigqueueinfo", "sig", kSignals},
    {"rt_tgsigqueueinfo", "sig", kSignals},
    {"kill", "sig", kSignals},
    {"tkill", "sig", kSignals},
    {"tgkill", "sig", kSignals},
    {"pidfd_send_signal", "sig", kSignals},
    {"clone", "clone_flags", kClones},
    {"unshare", "unshare_flags", kClones},
    {"wait4", "options", kWaits},
    {"waitid", "which", {kAll, kWaitWhich}},
    {"waitid", "options", kWaits},
    {"futex", "op", {127, kFutex}},
    {"clock_*", "which_clock", kClocks},
    {"clock_nanosleep", "flags", {0, kSleep}},
    {"getrlimit", "resource", kLimits},
    {"setrlimit", "resource", kLimits},
    {"prlimit64", "resource", kLimits},
    {"prctl", "option", {kAll, kProcess}},
    {"mount", "flags", {0, kMount}},
    {"umount2", "flags", {0, kUnmount}}};

std::string ErrorText(std::uint64_t ret) {
  const std::uint64_t error = -ret;
  if (error - 1 >= kMaxErrno) return {};
  const char* const name = strerrorname_np(static_cast<int>(error));
  if (name == nullptr) return {};
  return absl::StrFormat("-%d %s", error, name);
}

}  // namespace

const NumberNames* FindCallNames(std::string_view call,
                                 std::string_view argument) {
  if (argument == "ret") return &kErrors;
  for (const NamedArgument& named : kArguments) {
    if (named.argument != argument) continue;
    const std::size_t star = named.call.find('*');
    if (star == std::string_view::npos
            ? named.call == call
            : call.starts_with(named.call.substr(0, star))) {
      return &named.names;
    }
  }
  return nullptr;
}

std::string NumberText(const NumberNames& set, std::uint64_t value) {
  if (set.names.empty()) {
    return &set == &kErrors ? ErrorText(value) : absl::StrFormat("%#o", value);
  }
  std::string text;
  const auto add = [&text](std::string_view name) {
    if (!text.empty()) text += '|';
    text += name;
  };
  std::uint64_t rest = NamedNumber(value);
  for (const Name& name : set.names) {
    if ((set.chosen & rest) == name.value && (name.value & ~set.chosen) == 0 &&
        set.chosen != 0) {
      if (text.empty()) {
        add(name.text);
        rest &= ~set.chosen;
      }
      continue;
    }
    if (set.chosen == kAll || name.value == 0) continue;
    if ((name.value & set.chosen) != 0) continue;
    if ((rest & name.value) != name.value) continue;
    add(name.text);
    rest &= ~name.value;
  }
  if (text.empty() && (value & set.mask) == 0) {
    const auto zero =
        std::find_if(set.names.begin(), set.names.end(),
                     [](const Name& name) { return name.value == 0; });
    if (zero != set.names.end()) add(zero->text);
  }
  if (text.empty()) return {};
  if (rest != 0) add(absl::StrFormat("%#x", rest));
  return text;
}

}  // namespace countrace::logformat
