#include "runtime/recorder/system/process_capability.h"

#include <linux/capability.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/posix/small_file.h"

namespace countrace::runtime {

bool HasCapability(unsigned number) {
  const auto status = base::ReadSmallFile("/proc/self/status");
  if (!status.ok()) return false;
  constexpr std::string_view kKey = "CapEff:\t";
  const std::size_t at = status->find(kKey);
  if (at == std::string::npos) return false;
  std::uint64_t effective = 0;
  std::from_chars(status->data() + at + kKey.size(),
                  status->data() + status->size(), effective, 16);
  return ((effective >> number) & 1) != 0;
}

bool InInitialUserNamespace() {
  // PROC_USER_INIT_INO of include/linux/proc_ns.h.
  constexpr ino_t kInitialInode = 0xEFFFFFFD;
  struct stat info {};
  return stat("/proc/self/ns/user", &info) != 0 || info.st_ino == kInitialInode;
}

std::string MissingBpfCapabilities() {
  if (HasCapability(CAP_SYS_ADMIN)) return "";
  std::string missing;
  if (!HasCapability(kCapBpf)) missing = "CAP_BPF";
  if (!HasCapability(kCapPerfmon)) {
    missing += missing.empty() ? "CAP_PERFMON" : " and CAP_PERFMON";
  }
  return missing;
}

}  // namespace countrace::runtime
