// What names of code made at run time may cost: their writer chooses how many
// there are, and how long.
#ifndef COUNTRACE_BASE_CODE_NAME_LIMITS_H_
#define COUNTRACE_BASE_CODE_NAME_LIMITS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace countrace::base {

inline constexpr std::size_t kLongestJitName = 4096;

class NameLimits {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::uint64_t kBytes = 64 << 20;
  static constexpr std::chrono::nanoseconds kTime = std::chrono::seconds(5);

  explicit NameLimits(std::uint64_t bytes = kBytes,
                      std::chrono::nanoseconds time = kTime)
      : bytes_(bytes), until_(Clock::now() + time) {}

  // Takes what the next of so many processes may take: an eighth or more of
  // what is left, so that one of them leaves something to the others. What it
  // does not use is to be returned.
  NameLimits TakeShare(std::size_t processes) {
    const auto parts =
        static_cast<std::int64_t>(std::clamp<std::size_t>(processes, 1, 8));
    const std::uint64_t share = bytes_ / static_cast<std::uint64_t>(parts);
    bytes_ -= share;
    return NameLimits(share, (until_ - Clock::now()) / parts);
  }

  // False: there is not so much left, and nothing is taken.
  bool Take(std::uint64_t bytes) {
    if (bytes > bytes_) return false;
    bytes_ -= bytes;
    return true;
  }
  void Return(std::uint64_t bytes) { bytes_ += bytes; }
  std::uint64_t bytes() const { return bytes_; }
  bool TimeIsUp() const { return Clock::now() >= until_; }

  // What a reader says that stopped at this byte.
  static absl::Status NoRoom(std::uint64_t offset) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "names of functions from byte %d on are missing: those of all "
        "processes together have at most %d MiB of memory",
        offset, kBytes >> 20));
  }
  static absl::Status NoTime(std::uint64_t offset) {
    return absl::DeadlineExceededError(absl::StrFormat(
        "names of functions from byte %d on are missing: to read those of all "
        "processes takes at most %d s",
        offset,
        std::chrono::duration_cast<std::chrono::seconds>(kTime).count()));
  }

 private:
  std::uint64_t bytes_;
  Clock::time_point until_;
};

}  // namespace countrace::base

#endif  // COUNTRACE_BASE_CODE_NAME_LIMITS_H_
