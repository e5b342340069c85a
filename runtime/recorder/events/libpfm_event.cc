#include "runtime/recorder/events/libpfm_event.h"

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

// Makes libpfm4 encode events of other PMUs, too. Only this shows that a name
// is right and the machine lacks its PMU.
constexpr char kEncodeInactive[] = "LIBPFM_ENCODE_INACTIVE";

bool Initialise() {
  static const bool initialised = [] {
    const bool set = std::getenv(kEncodeInactive) == nullptr;
    if (set) setenv(kEncodeInactive, "1", 0);
    const bool ok = pfm_initialize() == PFM_SUCCESS;
    // Recorded commands do not inherit it.
    if (set) unsetenv(kEncodeInactive);
    return ok;
  }();
  return initialised;
}

std::optional<pfm_pmu_info_t> PmuInfo(int pmu) {
  pfm_pmu_info_t info{};
  info.size = sizeof(info);
  if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(pmu), &info) != PFM_SUCCESS) {
    return std::nullopt;
  }
  return info;
}

// PMUs that repeat perf's own names.
bool IsPerfsOwn(int pmu) {
  return pmu == PFM_PMU_PERF_EVENT || pmu == PFM_PMU_PERF_EVENT_RAW;
}

struct Encoding {
  perf_event_attr attr{};
  int index = -1;
  std::string full_name;
};

// Returns: a PFM_ERR_ code or PFM_SUCCESS.
int Encode(const std::string& name, Encoding& encoding) {
  char* full_name = nullptr;
  pfm_perf_encode_arg_t argument{};
  argument.attr = &encoding.attr;
  argument.size = sizeof(argument);
  argument.fstr = &full_name;
  const int result = pfm_get_os_event_encoding(
      name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
  if (full_name != nullptr) encoding.full_name = full_name;
  std::free(full_name);
  encoding.index = argument.idx;
  return result;
}

// The event with its PMU and umasks, without the modifiers and their defaults
// ("k=1") that libpfm4 appends.
std::string ShortName(const std::string& full_name) {
  std::string name;
  std::size_t begin = 0;
  while (begin < full_name.size()) {
    std::size_t end = full_name.find(':', begin + 1);
    if (end != std::string::npos && full_name[end + 1] == ':') {
      end = full_name.find(':', end + 2);  // after "pmu::event"
    }
    if (end == std::string::npos) end = full_name.size();
    const std::string part = full_name.substr(begin, end - begin);
    if (part.find('=') == std::string::npos) name += part;
    begin = end;
  }
  return name;
}

absl::StatusOr<LibpfmEvent> ToEvent(const std::string& name,
                                    const Encoding& encoding) {
  const perf_event_attr& attr = encoding.attr;
  if (attr.precise_ip != 0 || attr.pinned != 0 || attr.exclusive != 0 ||
      attr.sample_period != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "libpfm4 has %s, but its attributes request sampling or a counter of "
        "its own, which countrace does not use: leave them out",
        name));
  }
  LibpfmEvent event;
  event.full_name = ShortName(encoding.full_name);
  event.type = attr.type;
  event.config = attr.config;
  event.config1 = attr.config1;
  event.config2 = attr.config2;
  event.exclude_user = attr.exclude_user != 0;
  event.exclude_kernel = attr.exclude_kernel != 0;
  pfm_event_info_t info{};
  info.size = sizeof(info);
  if (pfm_get_event_info(encoding.index, PFM_OS_NONE, &info) == PFM_SUCCESS) {
    const auto pmu = PmuInfo(info.pmu);
    event.pmu_is_here = pmu && pmu->is_present;
  }
  return event;
}

}  // namespace

absl::StatusOr<LibpfmEvent> FindLibpfmEvent(std::string_view name) {
  if (!Initialise()) return absl::UnimplementedError("libpfm4 did not start");
  const std::string text(name);
  int reason = PFM_ERR_NOTFOUND;
  {
    Encoding encoding;
    const int result = Encode(text, encoding);
    if (result == PFM_SUCCESS) return ToEvent(text, encoding);
    if (result != PFM_ERR_NOTFOUND) reason = result;
  }
  std::optional<LibpfmEvent> found;
  if (name.find("::") == std::string_view::npos) {
    for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; ++pmu) {
      const auto info = PmuInfo(pmu);
      if (!info || info->is_present) continue;
      Encoding encoding;
      const int result =
          Encode(absl::StrFormat("%s::%s", info->name, text), encoding);
      if (result == PFM_ERR_ATTR || result == PFM_ERR_ATTR_VAL) {
        reason = result;
      }
      if (result != PFM_SUCCESS) continue;
      if (found) {
        ++found->other_pmus;
        continue;
      }
      auto event = ToEvent(text, encoding);
      if (!event.ok()) return event.status();
      found = *std::move(event);
    }
  }
  if (found) return *std::move(found);
  if (reason == PFM_ERR_NOTFOUND || reason == PFM_ERR_INVAL) {
    return absl::NotFoundError("libpfm4 does not have it");
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("libpfm4 has the event, but not all attributes after it "
                      "(%s)",
                      pfm_strerror(reason)));
}

std::vector<std::string> ListLibpfmEvents() {
  std::vector<std::string> names;
  if (!Initialise()) return names;
  for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; ++pmu) {
    const auto info = PmuInfo(pmu);
    if (!info || !info->is_present || IsPerfsOwn(pmu)) continue;
    for (int i = info->first_event; i != -1; i = pfm_get_event_next(i)) {
      pfm_event_info_t event{};
      event.size = sizeof(event);
      if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS) {
        continue;
      }
      const std::string name =
          absl::StrFormat("%s::%s", info->name, event.name);
      bool has_umask = false;
      for (int a = 0; a < event.nattrs; ++a) {
        pfm_event_attr_info_t attribute{};
        attribute.size = sizeof(attribute);
        if (pfm_get_event_attr_info(i, a, PFM_OS_PERF_EVENT, &attribute) !=
                PFM_SUCCESS ||
            attribute.type != PFM_ATTR_UMASK) {
          continue;
        }
        has_umask = true;
        names.push_back(absl::StrFormat("%s:%s", name, attribute.name));
      }
      if (!has_umask) names.push_back(name);
    }
  }
  return names;
}

}  // namespace countrace::runtime
