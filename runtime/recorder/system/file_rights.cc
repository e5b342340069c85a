#include "runtime/recorder/system/file_rights.h"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "absl/strings/str_format.h"
#include "runtime/recorder/system/process_capability.h"

namespace countrace::runtime {
namespace {

struct CapabilitySets {
  std::uint64_t effective = 0, permitted = 0, inheritable = 0;
};

constexpr std::uint64_t Bit(unsigned capability) {
  return std::uint64_t{1} << capability;
}

// A KernelFileScope needs one of them.
constexpr std::uint64_t kReading =
    Bit(CAP_DAC_READ_SEARCH) | Bit(CAP_DAC_OVERRIDE);
// What recording uses, if an administrator gave it. All others, as CAP_CHOWN,
// only serve a mistake.
constexpr std::uint64_t kRecording =
    Bit(kCapBpf) | Bit(kCapPerfmon) | Bit(CAP_SYS_NICE) | Bit(CAP_SYS_ADMIN) |
    Bit(CAP_SYS_PTRACE) | Bit(CAP_SYS_RESOURCE) | Bit(CAP_IPC_LOCK) |
    Bit(CAP_SYSLOG);

std::optional<CapabilitySets> ReadSets() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &head, data) != 0) return std::nullopt;
  CapabilitySets sets;
  for (int i = 0; i < 2; ++i) {
    sets.effective |= std::uint64_t{data[i].effective} << (32 * i);
    sets.permitted |= std::uint64_t{data[i].permitted} << (32 * i);
    sets.inheritable |= std::uint64_t{data[i].inheritable} << (32 * i);
  }
  return sets;
}

bool WriteSets(const CapabilitySets& sets) {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i].effective = static_cast<__u32>(sets.effective >> (32 * i));
    data[i].permitted = static_cast<__u32>(sets.permitted >> (32 * i));
    data[i].inheritable = static_cast<__u32>(sets.inheritable >> (32 * i));
  }
  return syscall(SYS_capset, &head, data) == 0;
}

bool GiveUpAll() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return WriteSets({});
}

bool KeepRecording() {
  std::optional<CapabilitySets> sets = ReadSets();
  if (!sets) return false;
  sets->permitted &= kRecording | kReading;
  sets->effective &= kRecording;
  return WriteSets(*sets);
}

}  // namespace

absl::Status SetFileRights(FileRights rights) {
  if (getuid() == 0 || getauxval(AT_SECURE) == 0) return absl::OkStatus();
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0 &&
      (rights == FileRights::kGivenUp ? GiveUpAll() : KeepRecording())) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrFormat(
      "Cannot give up the capabilities of the program's file: %s",
      std::strerror(errno)));
}

KernelFileScope::KernelFileScope() {
  std::optional<CapabilitySets> sets = ReadSets();
  if (!sets || (sets->effective & kReading) != 0) return;
  sets->effective |= sets->permitted & kReading;
  raised_ = (sets->effective & kReading) != 0 && WriteSets(*sets);
}

KernelFileScope::~KernelFileScope() {
  if (!raised_) return;
  std::optional<CapabilitySets> sets = ReadSets();
  if (sets) sets->effective &= ~kReading;
  if (!sets || !WriteSets(*sets)) std::abort();
}

}  // namespace countrace::runtime
