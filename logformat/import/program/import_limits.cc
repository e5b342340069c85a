#include "logformat/import/program/import_limits.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "absl/strings/str_format.h"

namespace countrace::importer {

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// Reading takes about 0.03 s a MiB.
constexpr std::uint64_t kCpuSecondsAtLeast = 60;
// libbabeltrace2 has at most one packet of each stream decoded at a time.
constexpr std::uint64_t kMemoryBytesAtLeast = 1024 * kMiB;
constexpr std::uint64_t kMemoryBytesAtMost = 4096 * kMiB;
constexpr std::uint64_t kOutputBytesAtLeast = 256 * kMiB;
constexpr std::uint64_t kOutputFactor = 16;

}  // namespace

absl::Status SetLimit(std::string_view text, ImportLimits& limits) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::string_view amount =
      equals == text.npos ? std::string_view() : text.substr(equals + 1);
  std::uint64_t number = 0;
  const auto parsed =
      std::from_chars(amount.data(), amount.data() + amount.size(), number);
  const std::string_view unit(
      parsed.ptr,
      static_cast<std::size_t>(amount.data() + amount.size() - parsed.ptr));
  const bool bytes = name == "memory" || name == "output";
  const bool seconds = name == "cpu" || name == "stall";
  std::uint64_t factor = 0;
  if (unit.empty()) factor = 1;
  if (bytes && unit == "K") factor = 1 << 10;
  if (bytes && unit == "M") factor = 1 << 20;
  if (bytes && unit == "G") factor = 1 << 30;
  if (seconds && unit == "s") factor = 1;
  if (seconds && unit == "m") factor = 60;
  if (seconds && unit == "h") factor = 3600;
  const bool fits = factor != 0 && number <= (~std::uint64_t{0} >> 1) / factor;
  if ((!bytes && !seconds && name != "files") || parsed.ec != std::errc() ||
      number == 0 || !fits) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is no limit; write memory=8G, cpu=10m, output=100G, files=4096 or "
        "stall=5m",
        text));
  }
  number *= factor;
  if (name == "memory") limits.memory_bytes = number;
  if (name == "output") limits.output_bytes = number;
  if (name == "cpu") limits.cpu_seconds = number;
  if (name == "stall") limits.stall_seconds = number;
  if (name == "files") limits.files = number;
  return absl::OkStatus();
}

ImportLimits WithDefaults(ImportLimits limits, std::uint64_t bytes) {
  if (limits.cpu_seconds == 0) {
    limits.cpu_seconds = kCpuSecondsAtLeast + bytes / kMiB;
  }
  if (limits.memory_bytes == 0) {
    limits.memory_bytes = std::min(kMemoryBytesAtMost,
                                   kMemoryBytesAtLeast + kMemoryFactor * bytes);
  }
  if (limits.output_bytes == 0) {
    limits.output_bytes = kOutputBytesAtLeast + kOutputFactor * bytes;
  }
  return limits;
}

}  // namespace countrace::importer
