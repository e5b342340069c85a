#include "rmap/where/row_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace countrace::rmap::where {
namespace {

void Add(std::uint64_t more, std::uint64_t& sum) { sum += more; }
void Add(const InclusiveExclusive& more, InclusiveExclusive& sum) {
  sum.incl += more.incl;
  sum.excl += more.excl;
}
void Add(const ProbeTime& more, ProbeTime& sum) {
  sum.ns += more.ns;
  sum.lo_ns += more.lo_ns;
  sum.hi_ns += more.hi_ns;
}

// As if both estimates erred in the same direction.
void AddError(const std::optional<double>& more, std::optional<double>& sum) {
  if (sum && more) {
    *sum += *more;
  } else {
    sum.reset();
  }
}

void Add(const ScaledCount& more, ScaledCount& sum) {
  sum.value += more.value;
  sum.counted += more.counted;
  sum.running += more.running;
  sum.enabled += more.enabled;
  sum.between += more.between;
  sum.slices += more.slices;
  AddError(more.standard_error, sum.standard_error);
  sum.freedom = std::min(sum.freedom, more.freedom);
}

// An exact count as an estimate without an error.
SegmentEstimate EstimateOf(const SegmentCount& count) {
  if (count.estimate) return *count.estimate;
  constexpr double kAny = std::numeric_limits<double>::max();
  return {.counted = count.incl,
          .standard_error = 0,
          .excl_standard_error = 0,
          .slices = ~std::uint64_t{0},
          .freedom = kAny,
          .excl_freedom = kAny};
}

void Add(const SegmentCount& more, SegmentCount& sum) {
  if (more.estimate || sum.estimate) {
    SegmentEstimate all = EstimateOf(sum);
    const SegmentEstimate part = EstimateOf(more);
    all.counted += part.counted;
    all.running += part.running;
    all.enabled += part.enabled;
    AddError(part.standard_error, all.standard_error);
    AddError(part.excl_standard_error, all.excl_standard_error);
    all.slices = std::min(all.slices, part.slices);
    all.freedom = std::min(all.freedom, part.freedom);
    all.excl_freedom = std::min(all.excl_freedom, part.excl_freedom);
    all.of_unseen |= part.of_unseen;
    sum.estimate = all;
  }
  sum.incl += more.incl;
  sum.excl += more.excl;
  sum.quality = Worse(sum.quality, more.quality);
}

void Add(const ErrorCounts& more, ErrorCounts& sum) {
  for (const auto& [error, calls] : more) sum[error] += calls;
}

template <typename Value>
void Add(const std::optional<Value>& more, std::optional<Value>& sum) {
  if (more && sum) {
    Add(*more, *sum);
  } else if (more) {
    sum = more;
  }
}

void Add(const Rare<ProbeTime>& more, Rare<ProbeTime>& sum) {
  if (more) Add(*more, sum.Write());
}

// Counts of the same events.
template <typename Value>
void Add(const std::vector<std::optional<Value>>& more,
         std::vector<std::optional<Value>>& sum) {
  sum.resize(std::max(sum.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) Add(more[i], sum[i]);
}

template <typename Row, typename... Parts>
void Sum(const Row& more, Row& sum, Parts Row::*... parts) {
  (Add(more.*parts, sum.*parts), ...);
}

// Names and ids: empty, 0 or absent if the two differ.
template <typename Row, typename... Parts>
void Share(const Row& more, Row& sum, Parts Row::*... parts) {
  const auto share = [](const auto& other, auto& mine) {
    if (mine != other) mine = {};
  };
  (share(more.*parts, sum.*parts), ...);
}

// The innermost segments that both have.
void SharePath(const std::vector<std::string>& more,
               std::vector<std::string>& path) {
  const auto differ = std::ranges::mismatch(path.rbegin(), path.rend(),
                                            more.rbegin(), more.rend());
  path.erase(path.begin(), differ.in1.base());
}

template <typename Row>
void AddQuality(const Row& more, Row& sum) {
  for (const Quality quality :
       {Quality::kScaled, Quality::kBounded, Quality::kInferred}) {
    if (more.qualities.Has(quality)) sum.qualities.Add(quality);
  }
  sum.quality = Worse(sum.quality, more.quality);
}

template <typename Row>
void AddSeen(const Row& more, Row& sum) {
  sum.first_seen_ns = std::min(sum.first_seen_ns, more.first_seen_ns);
  sum.last_seen_ns = std::max(sum.last_seen_ns, more.last_seen_ns);
}

// The mean and deviation of the calls of both.
void AddStatistics(const SegmentRow& more, SegmentRow& sum) {
  TimeStatistics& wall = sum.wall;
  wall.incl += more.wall.incl;
  wall.excl += more.wall.excl;
  if (more.calls == 0) return;
  const auto a = static_cast<double>(sum.calls);
  const auto b = static_cast<double>(more.calls);
  const double apart = more.wall.mean - wall.mean;
  wall.stddev = std::sqrt((a * wall.stddev * wall.stddev +
                           b * more.wall.stddev * more.wall.stddev +
                           apart * apart * a * b / (a + b)) /
                          (a + b));
  wall.mean += apart * b / (a + b);
  wall.min = sum.calls == 0 ? more.wall.min : std::min(wall.min, more.wall.min);
  wall.max = std::max(wall.max, more.wall.max);
}

void AddPlaces(const WakerRow& more, WakerRow& sum) {
  for (const BlockedPlace& place : more.places) {
    const auto same = std::ranges::find(sum.places, place.functions,
                                        &BlockedPlace::functions);
    if (same == sum.places.end()) {
      sum.places.push_back(place);
    } else {
      same->times += place.times;
      same->blocked_ns += place.blocked_ns;
    }
  }
  std::ranges::stable_sort(sum.places, std::greater(),
                           &BlockedPlace::blocked_ns);
}

// Several causes are one of kind `other`.
template <typename By, typename Kind>
void ShareCause(const By& more, Kind other, By& sum) {
  if (sum.kind != more.kind || sum.comm != more.comm) {
    sum.kind = other;
    sum.comm.clear();
  }
  Share(more, sum, &By::pid, &By::tid);
}

}  // namespace

void AddRow(const ProcessRow& more, ProcessRow& sum) {
  using R = ProcessRow;
  sum.pid = 0;
  Share(more, sum, &R::parent_pid, &R::own_pid, &R::host_pid, &R::comm, &R::uid,
        &R::user, &R::cgroup);
  Sum(more, sum, &R::processes, &R::threads, &R::on_cpu_ns, &R::dispatches,
      &R::recording_ns, &R::probes, &R::counts, &R::scaled);
  for (const ProgramTime& program : more.before_exec) {
    AddProgramTime(program, sum.before_exec);
  }
  AddSeen(more, sum);
  AddQuality(more, sum);
  sum.in_scope |= more.in_scope;
  sum.marked |= more.marked;
}

void AddRow(const ThreadRow& more, ThreadRow& sum) {
  using R = ThreadRow;
  Share(more, sum, &R::tid, &R::pid, &R::process, &R::comm);
  Sum(more, sum, &R::on_cpu_ns, &R::dispatches, &R::migrations, &R::wait_ns,
      &R::throttled_ns, &R::blocked_ns, &R::counts, &R::scaled);
  AddSeen(more, sum);
  AddQuality(more, sum);
}

void AddRow(const SegmentRow& more, SegmentRow& sum) {
  using R = SegmentRow;
  AddStatistics(more, sum);
  Share(more, sum, &R::segment, &R::pid, &R::process, &R::comm);
  SharePath(more.path, sum.path);
  Sum(more, sum, &R::calls, &R::end_inferred, &R::begin_inferred, &R::on_cpu,
      &R::off_cpu, &R::wait, &R::blocked, &R::counts, &R::recording_ns,
      &R::probes, &R::errors);
  if (sum.location.Read() != more.location.Read()) {
    sum.location = Rare<std::string>();
  }
  sum.on_cpu_quality = Worse(sum.on_cpu_quality, more.on_cpu_quality);
  AddQuality(more, sum);
}

void AddRow(const HookRow& more, HookRow& sum) {
  using R = HookRow;
  Share(more, sum, &R::hook, &R::pid, &R::process, &R::comm);
  sum.hits += more.hits;
  if (!more.requests) return;
  if (!sum.requests) sum.requests = HookRow::Requests{more.requests->device, 0};
  Share(*more.requests, *sum.requests, &HookRow::Requests::device);
  sum.requests->bytes += more.requests->bytes;
}

void AddRow(const FaultRow& more, FaultRow& sum) {
  using R = FaultRow;
  Share(more, sum, &R::pid, &R::process, &R::comm, &R::kind, &R::address);
  Sum(more, sum, &R::faults, &R::major);
}

void AddRow(const FileRow& more, FileRow& sum) {
  using R = FileRow;
  Share(more, sum, &R::file, &R::pid, &R::process, &R::comm);
  Sum(more, sum, &R::calls, &R::opens, &R::failed_opens, &R::reads, &R::writes,
      &R::read_bytes, &R::written_bytes, &R::wall_ns, &R::on_cpu_ns,
      &R::wait_ns, &R::blocked_ns, &R::errors);
  sum.longest_ns = std::max(sum.longest_ns, more.longest_ns);
  AddQuality(more, sum);
}

void AddRow(const LevelRow& more, LevelRow& sum) {
  using R = LevelRow;
  Share(more, sum, &R::level, &R::scope, &R::pid, &R::tid, &R::process,
        &R::comm);
  Sum(more, sum, &R::times, &R::up_ns, &R::on_cpu_ns, &R::counts);
  AddQuality(more, sum);
}

void AddRow(const WakerRow& more, WakerRow& sum) {
  using R = WakerRow;
  Share(more, sum, &R::pid, &R::tid, &R::process, &R::comm);
  SharePath(more.path, sum.path);
  ShareCause(more.waker, WakerKind::kOther, sum.waker);
  Share(more.waker, sum.waker, &R::By::segment);
  Sum(more, sum, &R::times, &R::blocked_ns);
  sum.longest_ns = std::max(sum.longest_ns, more.longest_ns);
  AddPlaces(more, sum);
  AddQuality(more, sum);
}

void AddRow(const PreemptorRow& more, PreemptorRow& sum) {
  using R = PreemptorRow;
  Share(more, sum, &R::pid, &R::tid, &R::process, &R::comm);
  ShareCause(more.preemptor, PreemptorKind::kOther, sum.preemptor);
  Sum(more, sum, &R::times, &R::wait_ns);
  sum.longest_ns = std::max(sum.longest_ns, more.longest_ns);
  AddQuality(more, sum);
}

}  // namespace countrace::rmap::where
