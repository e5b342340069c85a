#include "cli/stat/cpu_times.h"

#include <unistd.h>

#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/posix/small_file.h"
#include "runtime/recorder/system/process_owner.h"

namespace countrace::cli {
namespace {

std::uint64_t TickNs() {
  return 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<CpuTimes> TimesOfMachine() {
  const auto text = base::ReadSmallFile("/proc/stat");
  if (!text.ok()) return std::nullopt;
  std::istringstream words(*text);
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0;
  std::uint64_t irq = 0, softirq = 0;
  words >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  if (!words || name != "cpu") return std::nullopt;
  const std::uint64_t tick_ns = TickNs();
  return CpuTimes{(user + nice) * tick_ns, (system + irq + softirq) * tick_ns};
}

std::optional<CpuTimes> TimesOfProcesses(
    const std::vector<std::int32_t>& pids) {
  const std::uint64_t tick_ns = TickNs();
  CpuTimes times;
  for (const std::int32_t pid : pids) {
    const auto text =
        base::ReadSmallFile(absl::StrFormat("/proc/%d/stat", pid));
    if (!text.ok()) return std::nullopt;
    // The name, in parentheses, may hold any byte.
    const std::size_t name_end = text->rfind(')');
    if (name_end == text->npos) return std::nullopt;
    const std::vector<std::string> fields =
        absl::StrSplit(text->substr(name_end + 1), ' ', absl::SkipEmpty());
    std::uint64_t user = 0, system = 0;
    if (fields.size() < 13 || !absl::SimpleAtoi(fields[11], &user) ||
        !absl::SimpleAtoi(fields[12], &system)) {
      return std::nullopt;
    }
    times.user_ns += user * tick_ns;
    times.system_ns += system * tick_ns;
  }
  return times;
}

std::optional<CpuTimes> TimesOfCgroup(const std::string& path) {
  const std::optional<std::string>& mount = runtime::CgroupMount();
  if (!mount) return std::nullopt;
  const auto text = base::ReadSmallFile(*mount + path + "/cpu.stat");
  if (!text.ok()) return std::nullopt;
  std::istringstream words(*text);
  CpuTimes times;
  bool user = false, system = false;
  std::string name;
  std::uint64_t us = 0;
  while (words >> name >> us) {
    if (name == "user_usec") {
      times.user_ns = us * 1'000;
      user = true;
    } else if (name == "system_usec") {
      times.system_ns = us * 1'000;
      system = true;
    }
  }
  if (!user || !system) return std::nullopt;
  return times;
}

}  // namespace countrace::cli
