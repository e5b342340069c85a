#include "logformat/import/perf/group_counts.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "logformat/import/kernel/counter_names.h"
#include "logformat/import/perf/file_layout.h"

namespace countrace::importer::perf {

namespace {

// The names that perf shows, without our prefix for sampled events.
std::string EventName(const SamplePlan& plan) {
  constexpr std::string_view kPrefix = "sample:";
  return plan.name.starts_with(kPrefix) ? plan.name.substr(kPrefix.size())
                                        : plan.name;
}

bool Reads(const EventAttribute& attribute) {
  return (attribute.sample_type & PERF_SAMPLE_READ) != 0;
}
// True for a group's leader: its members do not sample.
bool Leads(const EventAttribute& attribute) {
  return Reads(attribute) && attribute.sample_period != 0;
}

// True if each switch of a CPU has a sample of the event.
bool ComesWithSwitches(const SamplePlan& plan) {
  const EventAttribute& attribute = *plan.attribute;
  if (plan.kind == EventKind::kSwitch && plan.to_kernel) return true;
  return attribute.type == PERF_TYPE_SOFTWARE &&
         attribute.config == PERF_COUNT_SW_CONTEXT_SWITCHES &&
         attribute.sample_period == 1 && !attribute.Has(kFreq);
}

}  // namespace

GroupCounts::GroupCounts(const FileDescription& file,
                         std::deque<SamplePlan>& plans,
                         logformat::TraceInfo& info)
    : file_(file),
      of_cpus_(file.system_wide),
      leads_(plans.size()),
      slots_(plans.size(), -1) {
  // A CPU's dump also has the counts made from the records.
  const std::size_t most =
      of_cpus_ ? logformat::kMaxDumpValues - 3 : logformat::kMaxCounters;
  std::string unused, unsure;
  const auto list = [](std::string& names, const std::string& name) {
    names += (names.empty() ? "" : ", ") + name;
  };
  bool use = false, found = false;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const EventAttribute& attribute = *plans[i].attribute;
    if (!Reads(attribute)) continue;
    if (Leads(attribute)) {
      use = !of_cpus_ || (!found && ComesWithSwitches(plans[i]));
      leads_[i] = use;
      found |= use;
      // The switches themselves are counted from the records.
      if (use && of_cpus_) continue;
    }
    const std::string name = EventName(plans[i]);
    if (!use || events_.size() == most) {
      list(unused, name);
      continue;
    }
    slots_[i] = static_cast<std::int32_t>(events_.size());
    events_.push_back(name);
    const bool times =
        (attribute.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
    if (!IsSoftwareEvent(name) && attribute.type != PERF_TYPE_TRACEPOINT &&
        attribute.type != PERF_TYPE_SOFTWARE) {
      uncertain_ |= 1u << slots_[i];
      if (!times) list(unsure, name);
    }
  }
  // The samples of each leader carry all counts of their thread so far.
  for (std::size_t i = 0; i < plans.size() && !of_cpus_; ++i) {
    if (!leads_[i]) continue;
    for (std::uint32_t slot = 0; slot < events_.size(); ++slot) {
      plans[i].counters.push_back(
          {{FieldScope::kCommon, kFirstCount + slot}, slot});
    }
  }
  if (!unused.empty()) {
    info.not_known.push_back(absl::StrFormat(
        "counts of %s: of CPUs they are of use only if they were read at each "
        "switch: record with -e '{sched:sched_switch,EVENTS}:S' (at most %d)",
        unused, most));
  }
  if (!unsure.empty()) {
    info.not_known.push_back(absl::StrFormat(
        "whether the counters of %s ran all the time (the samples have no "
        "running time): %s",
        unsure,
        of_cpus_ ? "if they were multiplexed, the counts are lower bounds"
                 : "they are marked as scaled"));
  }
}

std::span<const std::uint64_t> GroupCounts::Take(
    const EventAttribute& attribute, const Sample& sample,
    std::int32_t owner_id) {
  const auto index =
      static_cast<std::size_t>(&attribute - file_.attributes.data());
  if (!leads_[index]) return {};
  Owner& owner = owners_[owner_id];
  owner.sums.resize(events_.size(), 0);
  for (const ReadValue& value : sample.values) {
    // A single event may be read without its id.
    const std::uint64_t id = value.id == 0 ? sample.id : value.id;
    const EventAttribute* counted =
        id == 0 && sample.values.size() == 1 ? &attribute : file_.Find(id);
    if (counted == nullptr) continue;
    const std::int32_t slot =
        slots_[static_cast<std::size_t>(counted - file_.attributes.data())];
    if (slot < 0) continue;
    std::uint64_t& latest = owner.latest[id];
    owner.sums[static_cast<std::size_t>(slot)] += value.value - latest;
    latest = value.value;
  }
  if (sample.enabled_ns != 0) {
    Times& times = times_[sample.id];
    times.enabled_ns = std::max(times.enabled_ns, sample.enabled_ns);
    times.running_ns = std::max(times.running_ns, sample.running_ns);
  }
  return owner.sums;
}

void GroupCounts::Finish(logformat::TraceInfo& info) const {
  Times sum;
  for (const auto& [id, times] : times_) {
    sum.enabled_ns += times.enabled_ns;
    sum.running_ns += times.running_ns;
  }
  if (sum.running_ns >= sum.enabled_ns) return;
  std::string names;
  for (const std::string& event : events_) {
    names += (names.empty() ? "" : ", ") + event;
  }
  info.not_known.push_back(absl::StrFormat(
      "counts of %s while other events were counted (multiplexing): they ran "
      "%d of %d ns, so the counts are lower bounds",
      names, sum.running_ns, sum.enabled_ns));
}

}  // namespace countrace::importer::perf
