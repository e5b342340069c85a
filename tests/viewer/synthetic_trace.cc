#include "tests/viewer/synthetic_trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "logformat/packet_layout.h"

namespace countrace::viewer {
namespace {

constexpr std::uint64_t kBegin = 1'700'000'000'000;
constexpr const char* kComms[] = {
    "redis-server", "redis-benchmark", "request_pipeline", "kworker",
    "sshd",         "journald"};
constexpr const char* kSegments[] = {"server:handle", "server:parse",
                                     "store:lookup",  "store:write",
                                     "net:send",      "queue:wait"};
constexpr std::uint32_t kFirstHook = 4096;
constexpr std::uint32_t kPointHook = kFirstHook + 100;

using Random = std::mt19937_64;

std::uint64_t Uniform(Random& random, std::uint64_t low, std::uint64_t high) {
  return low + random() % (high - low + 1);
}

// Skewed lengths: many short, few long, some of no length at all.
std::uint64_t Length(Random& random, std::uint64_t mean_ns) {
  if (random() % 50 == 0) return 0;
  if (random() % 20 == 0) return Uniform(random, mean_ns, 20 * mean_ns);
  return Uniform(random, 1, mean_ns);
}

class Maker {
 public:
  explicit Maker(const SyntheticOptions& options)
      : options_(options), random_(options.seed) {}

  SyntheticTrace Make() {
    MakeNames();
    MakeDispatches();
    MakeWaits();
    for (std::uint32_t thread = 0; thread < threads(); ++thread) {
      MakeSegments(thread);
    }
    if (options_.losses) MakeLosses();
    if (options_.event_set_change) ChangeEventSet();
    FillReport();
    return std::move(trace_);
  }

 private:
  std::uint32_t threads() const {
    return options_.processes * options_.threads_per_process;
  }

  void MakeNames() {
    trace_.info.cpus = options_.cpus;
    trace_.info.begin_ns = kBegin;
    trace_.info.cpu_events = {"task-clock", "page-faults", "context-switches"};
    for (std::uint32_t i = 0; i < std::size(kSegments); ++i) {
      const std::string name = kSegments[i];
      const std::size_t colon = name.find(':');
      logformat::HookInfo hook;
      hook.id = kFirstHook + i;
      hook.kind = logformat::HookKind::kSegment;
      hook.provider = name.substr(0, colon);
      hook.name = name.substr(colon + 1);
      hook.location = "server.cc:" + std::to_string(10 * i + 12);
      trace_.info.hooks.push_back(hook);
    }
    logformat::HookInfo point;
    point.id = kPointHook;
    point.kind = logformat::HookKind::kPoint;
    point.provider = "server";
    point.name = "bytes";
    point.location = "server.cc:99";
    trace_.info.hooks.push_back(point);
  }

  void MakeDispatches() {
    struct Cpu {
      std::uint64_t now = kBegin;
      std::vector<std::uint64_t> totals =
          std::vector<std::uint64_t>(kSyntheticEvents);
    };
    std::vector<Cpu> cpus(options_.cpus);
    std::vector<std::uint64_t> free_at(threads(), kBegin);
    by_thread_.resize(threads());
    for (std::uint64_t made = 0; made < options_.dispatches; ++made) {
      // The first free CPU chooses among threads that are free by then.
      const auto number = static_cast<std::uint32_t>(
          std::min_element(
              cpus.begin(), cpus.end(),
              [](const Cpu& a, const Cpu& b) { return a.now < b.now; }) -
          cpus.begin());
      Cpu& cpu = cpus[number];
      std::uint32_t thread = kNoKey;
      // Squared: low threads run more, so processes differ.
      const std::uint64_t a = random_() % threads();
      const auto wanted = static_cast<std::uint32_t>(a * a / threads());
      if (random_() % 4 != 0 && free_at[wanted] <= cpu.now) thread = wanted;
      TrueDispatch dispatch{
          .cpu = number,
          .thread = thread,
          .begin_ns = cpu.now,
          .end_ns = cpu.now + Length(random_, options_.mean_dispatch_ns),
          .counts = {},
          .inferred = random_() % 40 == 0};
      // Now and then an interval is unknown.
      if (random_() % 200 == 0) {
        dispatch.begin_ns = std::min(dispatch.end_ns, dispatch.begin_ns + 500);
      }
      dispatch.counts = {
          thread == kNoKey ? 0 : dispatch.end_ns - dispatch.begin_ns,
          thread == kNoKey ? 0 : Uniform(random_, 0, 9), 1};
      trace_.dumps.push_back({number, cpu.now, cpu.totals});
      for (std::size_t i = 0; i < kSyntheticEvents; ++i) {
        cpu.totals[i] += dispatch.counts[i];
      }
      cpu.now = dispatch.end_ns;
      if (thread != kNoKey) {
        free_at[thread] = dispatch.end_ns;
        by_thread_[thread].push_back(dispatch);
      }
      trace_.dispatches.push_back(std::move(dispatch));
    }
    for (std::uint32_t number = 0; number < options_.cpus; ++number) {
      trace_.dumps.push_back({number, cpus[number].now, cpus[number].totals});
      end_ns_ = std::max(end_ns_, cpus[number].now);
    }
  }

  // In turn a thread blocks and is woken, loses its CPU, or leaves it for
  // reasons not known.
  void MakeWaits() {
    std::map<std::uint32_t, TrueDispatch*> before;
    std::map<std::uint32_t, std::uint32_t> turns;
    for (TrueDispatch& dispatch : trace_.dispatches) {
      if (dispatch.thread == kNoKey) continue;
      TrueDispatch*& last = before[dispatch.thread];
      if (last != nullptr && last->end_ns < dispatch.begin_ns) {
        const std::uint64_t gap_ns = dispatch.begin_ns - last->end_ns;
        const std::uint32_t turn = turns[dispatch.thread]++ % 3;
        if (turn == 0) last->end_state = logformat::kSwitchInterruptible;
        if (turn == 1) {
          last->end_state = gap_ns % 4 == 0 ? logformat::kSwitchThrottled
                                            : logformat::kSwitchPreempted;
        }
        if (turn < 2) {
          trace_.waits.push_back(
              {dispatch.thread,
               turn == 0 ? last->end_ns + gap_ns / 4 * 3 : last->end_ns,
               dispatch.begin_ns,
               turn == 0 ? (dispatch.thread + 1) % threads() : kNoKey});
        }
      }
      last = &dispatch;
      last->end_state = logformat::kSwitchOther;
    }
  }

  std::uint64_t OnCpu(std::uint32_t thread, std::uint64_t begin_ns,
                      std::uint64_t end_ns) const {
    std::uint64_t sum = 0;
    const std::vector<TrueDispatch>& runs = by_thread_[thread];
    auto run = std::partition_point(runs.begin(), runs.end(),
                                    [begin_ns](const TrueDispatch& dispatch) {
                                      return dispatch.end_ns <= begin_ns;
                                    });
    for (; run != runs.end() && run->begin_ns < end_ns; ++run) {
      sum += std::min(end_ns, run->end_ns) - std::max(begin_ns, run->begin_ns);
    }
    return sum;
  }

  void MakeSegment(std::uint32_t thread, std::uint32_t depth,
                   std::uint64_t begin_ns, std::uint64_t end_ns) {
    trace_.segments.push_back(
        {.thread = thread,
         .hook_id = kFirstHook +
                    static_cast<std::uint32_t>((depth * 2 + random_() % 3) %
                                               std::size(kSegments)),
         .depth = depth,
         .begin_ns = begin_ns,
         .end_ns = end_ns,
         .on_cpu_ns = OnCpu(thread, begin_ns, end_ns)});
    if (depth + 1 >= options_.max_depth) return;
    std::uint64_t at = begin_ns;
    for (std::uint64_t child = 0; child < random_() % 4 && at < end_ns;
         ++child) {
      at = Uniform(random_, at, end_ns);
      const std::uint64_t child_end = Uniform(random_, at, end_ns);
      MakeSegment(thread, depth + 1, at, child_end);
      at = child_end;
    }
  }

  void MakeSegments(std::uint32_t thread) {
    if (thread % 3 == 2) return;  // some threads have no hooks
    const std::uint64_t wanted = options_.dispatches / threads() / 3 + 1;
    const std::uint64_t mean_ns = (end_ns_ - kBegin) / (2 * wanted) + 1;
    std::uint64_t at = kBegin;
    while (at < end_ns_) {
      at += Length(random_, mean_ns);
      const std::uint64_t end_ns =
          std::min(end_ns_, at + Length(random_, mean_ns));
      if (at >= end_ns_) break;
      MakeSegment(thread, 0, at, end_ns);
      if (random_() % 3 == 0) {
        trace_.hooks.push_back({thread, kPointHook, at});
      }
      at = end_ns;
    }
  }

  void MakeLosses() {
    const std::uint64_t span_ns = end_ns_ - kBegin;
    trace_.losses.push_back({0, kBegin + span_ns * 2 / 5,
                             kBegin + span_ns * 2 / 5 + span_ns / 200, 120});
    trace_.losses.push_back({-1, kBegin + span_ns * 2 / 5 + span_ns / 400,
                             kBegin + span_ns * 2 / 5 + span_ns / 100, 17});
    trace_.losses.push_back({1, kBegin + span_ns * 4 / 5,
                             kBegin + span_ns * 4 / 5 + span_ns / 300, 3});
  }

  void ChangeEventSet() {
    struct Counter {
      std::uint64_t raw = 0, missed = 0;
    };
    std::vector<Counter> counters(options_.cpus);
    const std::uint64_t span_ns = end_ns_ - kBegin;
    for (TrueDump& dump : trace_.dumps) {
      Counter& counter = counters[dump.cpu];
      const std::uint64_t at_ns = dump.time_ns - kBegin;
      if (at_ns > span_ns / 50 * 30 && at_ns <= span_ns / 50 * 31) {
        dump.present &= ~2u;
        counter.missed += dump.values[1] - counter.raw;
      }
      counter.raw = dump.values[1];
      dump.values[1] -= counter.missed;
    }
  }

  void FillReport() {
    rmap::Report& report = trace_.report;
    report.path = "synthetic.ctf";
    report.scope = "system";
    report.command = "synthetic";
    report.begin_ns = kBegin;
    report.end_ns = end_ns_;
    report.cpus = options_.cpus;
    for (const std::string& event : trace_.info.cpu_events) {
      report.events.push_back({.name = event});
    }
    report.records =
        trace_.dumps.size() + 2 * trace_.segments.size() + trace_.hooks.size();
    for (std::uint32_t process = 0; process < options_.processes; ++process) {
      rmap::ProcessRow row;
      row.index = rmap::ProcessIndex{process};
      row.pid = static_cast<std::int32_t>(1000 + 10 * process);
      row.comm = kComms[process % std::size(kComms)];
      row.on_cpu_ns = 0;
      row.quality = static_cast<rmap::Quality>(process % 4);
      report.processes.push_back(row);
    }
    for (std::uint32_t thread = 0; thread < threads(); ++thread) {
      const std::uint32_t process = thread / options_.threads_per_process;
      rmap::ThreadRow row;
      row.index = rmap::ThreadIndex{thread};
      row.process = rmap::ProcessIndex{process};
      row.pid = report.processes[process].pid;
      row.tid = row.pid + static_cast<std::int32_t>(
                              thread % options_.threads_per_process);
      row.comm = report.processes[process].comm;
      row.quality = static_cast<rmap::Quality>(thread % 4);
      row.on_cpu_ns = 0;
      for (const TrueDispatch& dispatch : by_thread_[thread]) {
        *row.on_cpu_ns += dispatch.end_ns - dispatch.begin_ns;
      }
      *report.processes[process].on_cpu_ns += *row.on_cpu_ns;
      report.threads.push_back(row);
    }
    const auto most_first = [](const auto& a, const auto& b) {
      return *a.on_cpu_ns > *b.on_cpu_ns;
    };
    std::stable_sort(report.processes.begin(), report.processes.end(),
                     most_first);
    std::stable_sort(report.threads.begin(), report.threads.end(), most_first);
    for (const TrueLoss& loss : trace_.losses) {
      report.loss.discarded_events += loss.count;
      report.loss.by_cause["no_sub_buffer"] += loss.count;
    }
  }

  SyntheticOptions options_;
  Random random_;
  SyntheticTrace trace_;
  std::vector<std::vector<TrueDispatch>> by_thread_;
  std::uint64_t end_ns_ = kBegin;
};

}  // namespace

SyntheticTrace MakeSyntheticTrace(const SyntheticOptions& options) {
  return Maker(options).Make();
}

std::uint32_t SyntheticTrace::ProcessOf(std::uint32_t thread) const {
  for (const rmap::ThreadRow& row : report.threads) {
    if (row.index == rmap::ThreadIndex{thread}) {
      return static_cast<std::uint32_t>(row.process);
    }
  }
  return kNoKey;
}

void SyntheticTrace::Replay(rmap::TimelineObserver& observer) const {
  struct Call {
    std::uint64_t end_ns;
    std::uint64_t begin_ns;
    std::uint32_t order;
    std::function<void()> run;
  };
  std::vector<Call> calls;
  for (const TrueDispatch& truth : dispatches) {
    calls.push_back({truth.end_ns, truth.begin_ns, 0, [&observer, &truth] {
                       observer.OnDispatch(
                           {.cpu = truth.cpu,
                            .thread = truth.thread == kNoKey
                                          ? rmap::kNoThread
                                          : rmap::ThreadIndex{truth.thread},
                            .begin_ns = truth.begin_ns,
                            .end_ns = truth.end_ns,
                            .end_state = truth.end_state,
                            .counts = truth.counts,
                            .interrupts_ns = truth.interrupts_ns,
                            .begin_inferred = truth.inferred,
                            .end_inferred = truth.inferred,
                            .outside = false});
                     }});
  }
  for (const TrueInterrupt& truth : interrupts) {
    calls.push_back({truth.end_ns, truth.begin_ns, 0, [&observer, &truth] {
                       observer.OnTime({truth.cpu, rmap::Account::kInterrupts,
                                        rmap::kNoThread, truth.begin_ns,
                                        truth.end_ns});
                     }});
  }
  for (const rmap::AttributedCount& late : late_counts) {
    calls.push_back({late.end_ns, late.begin_ns, 0,
                     [&observer, &late] { observer.OnCounts(late); }});
  }
  for (const TrueWait& truth : waits) {
    if (truth.waker != kNoKey) {
      // Only its end is of interest.
      calls.push_back({truth.begin_ns, truth.begin_ns, 0, [&observer, &truth] {
                         observer.OnBlocked(
                             {.thread = rmap::ThreadIndex{truth.thread},
                              .begin_ns = truth.begin_ns,
                              .end_ns = truth.begin_ns,
                              .kind = rmap::WakerKind::kThread,
                              .waker = rmap::ThreadIndex{truth.waker},
                              .waker_hook = 0});
                       }});
    }
    calls.push_back({truth.end_ns, truth.begin_ns, 0, [&observer, &truth] {
                       observer.OnWait(
                           {.thread = rmap::ThreadIndex{truth.thread},
                            .begin_ns = truth.begin_ns,
                            .end_ns = truth.end_ns});
                     }});
  }
  for (const TrueSegment& truth : segments) {
    // Inner calls end first, also where ends are equal.
    calls.push_back(
        {truth.end_ns, truth.begin_ns, 1000 - truth.depth, [&observer, &truth] {
           observer.OnSegment({.thread = rmap::ThreadIndex{truth.thread},
                               .hook_id = truth.hook_id,
                               .depth = truth.depth,
                               .begin_ns = truth.begin_ns,
                               .end_ns = truth.end_ns,
                               .on_cpu_ns = truth.on_cpu_ns,
                               .begin_inferred = false,
                               .end_inferred = false});
         }});
  }
  for (const TrueHook& truth : hooks) {
    calls.push_back({truth.time_ns, truth.time_ns, 0, [&observer, &truth] {
                       observer.OnHook(
                           {.thread = rmap::ThreadIndex{truth.thread},
                            .hook_id = truth.hook_id,
                            .time_ns = truth.time_ns});
                     }});
  }
  for (const TrueDump& truth : dumps) {
    calls.push_back({truth.time_ns, truth.time_ns, 0, [&observer, &truth] {
                       observer.OnCounters(
                           {.cpu = truth.cpu,
                            .time_ns = truth.time_ns,
                            .values = truth.values,
                            .present = rmap::MeasureSet(truth.present)});
                     }});
  }
  for (const TrueLoss& truth : losses) {
    calls.push_back({truth.end_ns, truth.begin_ns, 0, [&observer, &truth] {
                       observer.OnLoss({.cpu = truth.cpu,
                                        .thread = rmap::ThreadIndex{0},
                                        .begin_ns = truth.begin_ns,
                                        .end_ns = truth.end_ns,
                                        .count = truth.count,
                                        .cause = "no_sub_buffer"});
                     }});
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) {
                     if (a.end_ns != b.end_ns) return a.end_ns < b.end_ns;
                     if (a.order != b.order) return a.order < b.order;
                     return a.begin_ns < b.begin_ns;
                   });
  for (const Call& call : calls) call.run();
}

}  // namespace countrace::viewer
