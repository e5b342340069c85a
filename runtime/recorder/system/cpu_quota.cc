#include "runtime/recorder/system/cpu_quota.h"

#include <sstream>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"
#include "base/text/quantity_format.h"

namespace countrace::runtime {
namespace {

// Returns false if the cgroup has no quota that could be used up.
bool ReadStops(const std::string& folder, QuotaStops& stops) {
  const auto text = base::ReadSmallFile(folder + "/cpu.stat");
  if (!text.ok()) return false;
  std::istringstream words(*text);
  std::string name;
  std::uint64_t value = 0;
  bool found = false;
  while (words >> name >> value) {
    if (name == "nr_throttled") found = true, stops.times = value;
    if (name == "throttled_time") stops.ns = value;          // v1
    if (name == "throttled_usec") stops.ns = value * 1'000;  // v2
  }
  return found;
}

}  // namespace

std::string StopsText(const QuotaStops& stops) {
  return absl::StrFormat("%s%s by its CPU quota (cpu.stat of %s)",
                         stops.at_least ? "at least " : "",
                         base::FormatNanoseconds(static_cast<double>(stops.ns)),
                         stops.cgroup);
}

void CpuQuotas::Watch(const CgroupPlace& place, bool late) {
  for (std::string path = place.path == "/" ? "" : place.path;;
       path.resize(path.rfind('/'))) {
    QuotaStops stops{.cgroup = path.empty() ? "/" : path, .at_least = late};
    const std::string folder = place.mount + path;
    if (at_begin_.contains(folder)) return;  // and so are those above
    if (ReadStops(folder, stops)) at_begin_.emplace(folder, stops);
    if (path.empty()) return;
  }
}

void CpuQuotas::Watch(std::int32_t pid, bool late) {
  if (const auto place = CpuCgroupOf(pid)) Watch(*place, late);
}

void CpuQuotas::Watch(const std::string& cgroup) {
  if (CgroupMount()) Watch({*CgroupMount(), cgroup}, /*late=*/false);
}

std::vector<QuotaStops> CpuQuotas::Stops() const {
  std::vector<QuotaStops> all;
  for (const auto& [folder, begin] : at_begin_) {
    QuotaStops now = begin;
    if (!ReadStops(folder, now) || now.times <= begin.times) continue;
    now.times -= begin.times;
    now.ns -= begin.ns;
    all.push_back(now);
  }
  return all;
}

}  // namespace countrace::runtime
