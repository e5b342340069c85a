#include "rmap/metrics/quantities.h"

#include <iterator>
#include <utility>

namespace countrace::rmap::metrics {
namespace {

constexpr const char* kScopeNames[kScopes] = {"trace",   "process", "thread",
                                              "segment", "path",    "cpu"};

constexpr std::pair<std::string_view, Account> kAccounts[] = {
    {"excl", Account::kExclusive},
    {"total", Account::kTotal},
    {"processes", Account::kProcesses},
    {"own", Account::kOwn},
    {"idle", Account::kIdle},
    {"interrupts", Account::kInterrupts},
    {"outside", Account::kOutside},
    {"unattributed", Account::kUnattributed}};

constexpr Dimensions kTime{.time = 1}, kCount{.count = 1}, kCallUnit{.call = 1};
constexpr ScopeSet kCalled = Only(Scope::kSegment) | Only(Scope::kPath);
constexpr ScopeSet kTasks =
    Only(Scope::kTrace) | Only(Scope::kProcess) | Only(Scope::kThread);
constexpr ScopeSet kCpuTable = Only(Scope::kCpu);

}  // namespace

const char* ScopeName(Scope scope) {
  return kScopeNames[static_cast<std::size_t>(scope)];
}

std::optional<Scope> ScopeOf(std::string_view name) {
  for (const Scope scope : kAllScopes) {
    if (name == ScopeName(scope)) return scope;
  }
  return std::nullopt;
}

std::string ScopeNames(ScopeSet set) {
  std::string names;
  for (const Scope scope : kAllScopes) {
    if (!Has(set, scope)) continue;
    if (!names.empty()) names += ", ";
    names += ScopeName(scope);
  }
  return names;
}

const std::vector<QuantityInfo>& Quantities() {
  using Q = Quantity;
  static const auto* const all = new std::vector<QuantityInfo>{
      {Q::kWall, "", "wall_ns", kCalled | kCpuTable, kTime,
       "segments: enter to exit, with what was called; CPUs: first to last "
       "dump"},
      {Q::kOnCpu, "", "on_cpu_ns", kTasks | kCalled | kCpuTable, kTime,
       "on a CPU; of a CPU, busy"},
      {Q::kOffCpu, "", "off_cpu_ns", kCalled, kTime, "wall_ns - on_cpu_ns"},
      {Q::kWait, "", "wait_ns", kTasks | kCalled, kTime,
       "runnable, but on no CPU: after preemption or yield, and after wake-ups "
       "if these were recorded"},
      {Q::kBlocked, "", "blocked_ns", kTasks | kCalled, kTime,
       "on no CPU and not runnable; absent without recorded wake-ups"},
      {Q::kCalls, "", "calls", kCalled, kCallUnit, "enters recorded"},
      {Q::kDispatches, "", "dispatches", kTasks | kCpuTable, kCount,
       "switches onto a CPU"},
      {Q::kMigrations, "", "migrations", kTasks, kCount,
       "switches onto another CPU than before"},
      {Q::kThreads, "", "threads", Only(Scope::kTrace) | Only(Scope::kProcess),
       kCount, "threads it had"},
      {Q::kRecording, "", "recording_ns", kCalled | Only(Scope::kProcess),
       kTime, "of it, what hooks took, estimated"},
      {Q::kBusy, "", "busy_ns", kCpuTable, kTime, "ran threads in scope"},
      {Q::kIdle, "", "idle_ns", kCpuTable, kTime, "ran nothing"},
      {Q::kInterrupts, "", "interrupts_ns", kCpuTable, kTime,
       "did interrupts' work"},
      {Q::kOutside, "", "outside_ns", kCpuTable, kTime,
       "ran processes outside the scope"},
      {Q::kUnattributed, "", "unattributed_ns", kCpuTable, kTime,
       "the running thread is unknown"},
      {Q::kExclusiveWall, "excl", "wall_ns", kCalled, kTime,
       "without the segments called"},
      {Q::kExclusiveOnCpu, "excl", "on_cpu_ns", kCalled, kTime,
       "without the segments called"},
      {Q::kExclusiveOffCpu, "excl", "off_cpu_ns", kCalled, kTime,
       "without the segments called"},
      {Q::kExclusiveWait, "excl", "wait_ns", kCalled, kTime,
       "without the segments called"},
      {Q::kExclusiveBlocked, "excl", "blocked_ns", kCalled, kTime,
       "without the segments called"},
      {Q::kCallMean, "wall", "mean", kCalled, kTime, "of one call's time"},
      {Q::kCallStddev, "wall", "stddev", kCalled, kTime, "of one call's time"},
      {Q::kCallMin, "wall", "min", kCalled, kTime, "shortest call"},
      {Q::kCallMax, "wall", "max", kCalled, kTime, "longest call"},
      {Q::kCallP50, "wall", "p50", kCalled, kTime, "median call"},
      {Q::kCallP90, "wall", "p90", kCalled, kTime, "90th percentile"},
      {Q::kCallP99, "wall", "p99", kCalled, kTime, "99th percentile"},
      {Q::kDuration, "", "duration_ns", kEveryScope, kTime,
       "first to last record of the trace"},
      {Q::kCpus, "", "cpus", kEveryScope, kCount, "CPUs of the machine"},
      {Q::kRecords, "", "records", kEveryScope, kCount,
       "event records of the trace"},
      {Q::kOwnBpf, "", "own_bpf_ns", kEveryScope, kTime,
       "run time of the recorder's BPF programs, estimated from samples"},
      {Q::kDiscarded, "", "discarded", kEveryScope, kCount,
       "event records that were lost"},
  };
  return *all;
}

const QuantityInfo* FindQuantity(std::string_view qualifier,
                                 std::string_view name) {
  for (const QuantityInfo& info : Quantities()) {
    if (info.qualifier == qualifier && info.name == name) return &info;
  }
  return nullptr;
}

std::optional<Account> AccountOf(std::string_view qualifier) {
  if (qualifier.empty()) return Account::kRow;
  for (const auto& [name, account] : kAccounts) {
    if (name == qualifier) return account;
  }
  return std::nullopt;
}

}  // namespace countrace::rmap::metrics
