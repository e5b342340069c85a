#include "runtime/recorder/system/cpu_list.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"
#include "base/text/trim.h"

namespace countrace::runtime {
namespace {

constexpr std::uint32_t kMaxCpu = 65535;

absl::Status BadList(std::string_view text, std::size_t offset) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "Cannot parse CPU list \"%s\": offset=%d: expected numbers below %d like "
      "\"0,3-7\"",
      text, offset, kMaxCpu + 1));
}

absl::StatusOr<std::vector<std::uint32_t>> ReadList(const char* path,
                                                    int sysconf_name) {
  const absl::StatusOr<std::string> text = base::ReadSmallFile(path);
  if (text.ok()) return ParseCpuList(*text);
  const long count = sysconf(sysconf_name);
  if (count < 1) return text.status();
  std::vector<std::uint32_t> cpus(static_cast<std::size_t>(count));
  std::iota(cpus.begin(), cpus.end(), 0u);
  return cpus;
}

}  // namespace

absl::StatusOr<std::vector<std::uint32_t>> ParseCpuList(std::string_view text) {
  const std::string_view list = base::Trim(text);
  std::vector<std::uint32_t> cpus;
  const char* const begin = list.data();
  const char* const end = begin + list.size();
  const char* at = begin;
  while (at < end) {
    std::uint32_t first = 0;
    auto parsed = std::from_chars(at, end, first);
    if (parsed.ec != std::errc() || first > kMaxCpu) {
      return BadList(list, static_cast<std::size_t>(at - begin));
    }
    at = parsed.ptr;
    std::uint32_t last = first;
    if (at < end && *at == '-') {
      parsed = std::from_chars(at + 1, end, last);
      if (parsed.ec != std::errc() || last > kMaxCpu || last < first) {
        return BadList(list, static_cast<std::size_t>(at - begin));
      }
      at = parsed.ptr;
    }
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end) break;
    if (*at != ',' || at + 1 == end) {
      return BadList(list, static_cast<std::size_t>(at - begin));
    }
    ++at;
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

absl::StatusOr<std::vector<std::uint32_t>> OnlineCpus() {
  return ReadList("/sys/devices/system/cpu/online", _SC_NPROCESSORS_ONLN);
}

absl::StatusOr<std::vector<std::uint32_t>> PossibleCpus() {
  return ReadList("/sys/devices/system/cpu/possible", _SC_NPROCESSORS_CONF);
}

}  // namespace countrace::runtime
