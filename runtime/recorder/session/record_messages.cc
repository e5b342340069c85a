#include "runtime/recorder/session/record_messages.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "logformat/discard_errors.h"

namespace countrace::runtime {
namespace {

using logformat::DiscardCause;

std::string Remedy(DiscardCause cause, const LossFacts& facts) {
  switch (cause) {
    case DiscardCause::kNoSubBuffer:
      return absl::StrFormat(
          "no sub-buffer was ready: raise --sub-buffers (now %d of %d bytes "
          "for each thread)",
          facts.sub_buffers, facts.sub_buffer_bytes);
    case DiscardCause::kTraceFull:
      if (facts.overwritten != 0) {
        return absl::StrFormat(
            "%d were overwritten, which is how --flight keeps the newest %d "
            "bytes; %d of the newest came faster than that",
            facts.overwritten, facts.max_bytes,
            facts.discarded[static_cast<std::size_t>(cause)] -
                std::min(facts.overwritten,
                         facts.discarded[static_cast<std::size_t>(cause)]));
      }
      return absl::StrFormat(
          "the trace reached its size limit: raise --size (now %d)",
          facts.max_bytes);
    case DiscardCause::kDiskFull:
      return absl::StrFormat(
          "the disk under %s is full (%s): free space there, or record "
          "elsewhere with -o",
          facts.path,
          facts.last_errno != 0
              ? std::strerror(static_cast<int>(facts.last_errno))
              : "no space");
    case DiscardCause::kNoResource:
      if (facts.last_errno == EFBIG) {
        return "a stream file reached the limit of file sizes: raise `ulimit "
               "-f`, or the program's RLIMIT_FSIZE";
      }
      if (facts.last_errno == logformat::kNoCallsAllowed) {
        return "threads under a seccomp filter or in its strict mode: no other "
               "thread could make their system calls";
      }
      if (facts.last_errno == logformat::kSharesThreadStorage) {
        return "tasks that clone(CLONE_VM) made with the thread-local storage "
               "of a thread: their hooks are not recorded";
      }
      if (facts.last_errno == logformat::kNoStreamLeft) {
        return "threads and forked children that started after their program "
               "had given up access to the trace (another user, root or "
               "mounts): "
               "it had kept 64 streams for them";
      }
      if (facts.last_errno == logformat::kRegistryIsLocked) {
        return "programs whose hooks stayed off: another process held the lock "
               "on .hooks for more than 100 ms while they started";
      }
      return absl::StrFormat(
          "a stream file could not be opened or mapped (%s): raise `ulimit "
          "-n`, or check the permissions of %s",
          facts.last_errno != 0
              ? std::strerror(static_cast<int>(facts.last_errno))
              : "unknown error",
          facts.path);
    case DiscardCause::kUncommitted:
      return "a thread was killed mid-record";
    case DiscardCause::kKernelRingFull:
      return absl::StrFormat(
          "the kernel's ring was full: raise --kernel-ring (now %d for "
          "each CPU)",
          facts.kernel_ring_bytes);
  }
  return "unknown cause";
}

}  // namespace

std::vector<std::string> DescribeLosses(const LossFacts& facts) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < logformat::kDiscardCauses; ++i) {
    if (facts.discarded[i] == 0) continue;
    messages.push_back(
        absl::StrFormat("Discarded events: cause=%s count=%d: %s",
                        logformat::kDiscardCauseNames[i], facts.discarded[i],
                        Remedy(static_cast<DiscardCause>(i), facts)));
  }
  return messages;
}

}  // namespace countrace::runtime
