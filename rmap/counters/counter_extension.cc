#include "rmap/counters/counter_extension.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace countrace::rmap {

using logformat::CounterLimit;
using logformat::EventRecord;

namespace {

// A record's time and its values are not read at the same instant.
constexpr std::uint64_t kReadErrorNs = 1000;
// Larger CPU numbers come from damage.
constexpr std::int32_t kMaxCpu = 1 << 16;

}  // namespace

CounterExtension::CounterExtension(std::vector<CounterLimit> limits,
                                   std::size_t measures,
                                   const MeasureSet& rotating)
    : limits_(std::move(limits)), rotating_(rotating) {
  limits_.resize(std::min(measures, kMaxMeasures));
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (limits_[i].any()) limited_.Add(i);
  }
}

CounterExtension::Source* CounterExtension::SourceOf(
    const EventRecord& record) {
  if (record.stream_class == logformat::StreamClass::kCpu) {
    if (record.cpu < 0 || record.cpu >= kMaxCpu) return nullptr;
    const auto cpu = static_cast<std::size_t>(record.cpu);
    if (cpu >= cpus_.size()) cpus_.resize(cpu + 1);
    if (cpus_[cpu] == nullptr) cpus_[cpu] = std::make_unique<Source>();
    return cpus_[cpu].get();
  }
  if (record.stream >= streams_.size()) streams_.resize(record.stream + 1u);
  Source& source = streams_[record.stream];
  if (source.pid != record.pid || source.tid != record.tid) {
    source = Source();  // the next thread of the stream
    source.pid = record.pid;
    source.tid = record.tid;
  }
  return &source;
}

void CounterExtension::Restart(std::int32_t cpu) {
  if (cpu < 0 || static_cast<std::size_t>(cpu) >= cpus_.size()) return;
  if (Source* const source = cpus_[static_cast<std::size_t>(cpu)].get()) {
    source->seen = MeasureSet();
  }
}

void CounterExtension::Step(Source& source, std::size_t i,
                            const EventRecord& record, std::uint64_t time_ns,
                            bool time_sure) {
  const CounterLimit& limit = limits_[i];
  const std::uint64_t value = record.counters[i];
  const std::uint64_t from = source.raw[i];
  const std::uint64_t delta = (value - from) & limit.mask();
  const std::uint64_t ns = time_ns - source.at_ns[i];
  const bool sure = time_sure && !source.unsure.Has(i);
  std::optional<DoubtReason> reason;
  if (value > limit.mask() || (value < from && !limit.narrow())) {
    reason = DoubtReason::kWentBack;
  } else if (limit.per_second == 0 || !sure) {
    if (value < from) reason = DoubtReason::kWrapped;
  } else if (delta > limit.Most(ns + kReadErrorNs)) {
    reason = DoubtReason::kWentBack;
  } else if (const auto wrap_ns = limit.WrapNs(); wrap_ns && ns > *wrap_ns) {
    reason = DoubtReason::kWrapped;
  }
  if (reason != DoubtReason::kWentBack) source.extended[i] += delta;
  if (!reason) return;
  doubted_.Add(i);
  doubts_.Add(*reason, i,
              {record.cpu, record.tid, source.at_ns[i], time_ns, from, value});
}

EventRecord CounterExtension::Extend(const EventRecord& record,
                                     const MeasureSet& present,
                                     std::uint64_t time_ns, bool time_sure) {
  doubted_ = MeasureSet();
  Source* const source = SourceOf(record);
  if (source == nullptr) return record;
  if (source->raw.empty()) {
    source->raw.resize(limits_.size());
    source->extended.resize(limits_.size());
    source->at_ns.resize(limits_.size());
  }
  // From here on another event set counts.
  if (record.mmcr != source->mmcr) {
    source->seen -= rotating_.empty() ? source->seen : rotating_;
  }
  source->mmcr = record.mmcr;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (!present.Has(i)) {
      if (rotating_.Has(i)) source->seen.Remove(i);
      continue;
    }
    if (!limited_.Has(i)) {
      source->extended[i] = record.counters[i];
      continue;
    }
    if (source->seen.Has(i)) Step(*source, i, record, time_ns, time_sure);
    source->seen.Add(i);
    source->raw[i] = record.counters[i] & limits_[i].mask();
    source->at_ns[i] = time_ns;
    if (time_sure) {
      source->unsure.Remove(i);
    } else {
      source->unsure.Add(i);
    }
  }
  EventRecord extended = record;
  extended.counters = source->extended.data();
  return extended;
}

}  // namespace countrace::rmap
