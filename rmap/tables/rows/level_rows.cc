#include "rmap/tables/rows/level_rows.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "rmap/result/limits.h"

namespace countrace::rmap {
namespace {

using logformat::LevelScope;

// An amount of the threads that a level is of; no part of it is more.
struct Whole {
  std::uint64_t value = 0, hi = 0;
  bool known = false, exact = true;

  template <typename Row>
  void Add(const Row& row, Number number,
           const std::optional<std::uint64_t>& amount) {
    const auto bounds = row.bounds.Of(number);
    known |= amount.has_value();
    exact &= !bounds;
    value += amount.value_or(0);
    hi = AddBounded(hi, bounds ? bounds->hi : amount.value_or(0));
  }
};

class LevelRows {
 public:
  LevelRows(const TableInput& input, const Report& report)
      : input_(input), report_(report) {
    for (const ThreadRow& row : report.threads) {
      threads_[static_cast<std::uint32_t>(row.index)] = &row;
    }
    for (const ProcessRow& row : report.processes) {
      processes_[static_cast<std::uint32_t>(row.index)] = &row;
    }
  }

  // None: it is of a process that is not counted.
  std::optional<LevelRow> Build(const OwnedLevel& level) {
    if (!SetOwner(level)) return std::nullopt;
    doubted_ = level.doubted || input_.in.session_loss;
    row_.times = level.raises;
    row_.up_ns = level.up_ns;
    if (doubted_) {
      Set(Number::kTimes, row_.times, {});
      Set(Number::kUp, row_.up_ns, {0, input_.in.end_ns - input_.in.begin_ns});
    }
    row_.on_cpu_ns = Part(
        Number::kOnCpu,
        {level.on_cpu_ns, level.on_cpu_ns, level.on_cpu_ns, /*split=*/false},
        [](const auto& row) { return row.on_cpu_ns; });
    row_.counts.resize(input_.plans.size());
    for (std::size_t i = 0; i < input_.plans.size(); ++i) SetCount(level, i);
    row_.quality = row_.qualities.Worst();
    return std::move(row_);
  }

 private:
  bool SetOwner(const OwnedLevel& level) {
    const LevelScope scope = level.hook->level;
    row_ = LevelRow();
    row_.level = level.hook->FullName();
    row_.scope = logformat::LevelScopeName(scope);
    of_thread_.clear();
    of_processes_.clear();
    if (scope == LevelScope::kMachine) {
      for (const ProcessRow& row : report_.processes) {
        of_processes_.push_back(&row);
      }
    } else if (scope == LevelScope::kThread) {
      const auto found = threads_.find(level.owner);
      if (found == threads_.end()) return false;
      const ThreadRow& row = *found->second;
      of_thread_.push_back(&row);
      row_.tid = row.tid;
      Name(row, row.process);
    } else {
      const auto found = processes_.find(level.owner);
      if (found == processes_.end()) return false;
      of_processes_.push_back(found->second);
      Name(*found->second, found->second->index);
    }
    return true;
  }

  template <typename Row>
  void Name(const Row& row, ProcessIndex process) {
    row_.pid = row.pid;
    row_.comm = row.comm;
    row_.process = process;
  }

  // `amount` of the threads' rows, while the level was up. Absent: it is not
  // known of any of them.
  template <typename Amount>
  std::optional<std::uint64_t> Part(Number number, OwnedLevel::Count part,
                                    const Amount& amount) {
    Whole whole;
    for (const auto* row : of_thread_) whole.Add(*row, number, amount(*row));
    for (const auto* row : of_processes_) whole.Add(*row, number, amount(*row));
    if (!whole.known) return std::nullopt;
    const std::uint64_t value = std::min(part.value, whole.value);
    const bool sure = !doubted_ && whole.exact;
    if (part.split) row_.qualities.Add(Quality::kInferred);
    Set(number, value,
        AtMost(sure ? Bounds{part.lo, part.hi} : Bounds{}, whole.hi));
    return value;
  }

  void SetCount(const OwnedLevel& level, std::size_t i) {
    const EventPlan& plan = input_.plans[i];
    const Number number = CountNumber(i, CountPart::kWhole);
    // The counts of a set that rotates are estimates of the whole, and those
    // of dumps around a pause are of both.
    if (!input_.IsCounted(plan) || input_.Rotates(plan) ||
        !input_.in.info.pauses.empty()) {
      return;
    }
    row_.counts[i] = Part(number, level.counts[*plan.cpu_event],
                          [i](const auto& row) { return row.counts[i]; });
  }

  void Set(Number number, std::uint64_t value, Bounds bounds) {
    if (bounds.lo == value && bounds.hi == value) return;
    row_.qualities.Add(Quality::kBounded);
    row_.bounds.Set(number, value, bounds);
  }

  const TableInput& input_;
  const Report& report_;
  std::unordered_map<std::uint32_t, const ThreadRow*> threads_;
  std::unordered_map<std::uint32_t, const ProcessRow*> processes_;
  // The rows whose amounts one level has a part of.
  std::vector<const ThreadRow*> of_thread_;
  std::vector<const ProcessRow*> of_processes_;
  bool doubted_ = false;
  LevelRow row_;
};

}  // namespace

void BuildLevels(const TableInput& input, Report& report) {
  report.has_levels = input.in.levels != nullptr;
  if (!report.has_levels) return;
  LevelRows rows(input, report);
  for (const OwnedLevel& level : input.in.levels->owned()) {
    if (auto row = rows.Build(level)) report.levels.push_back(*std::move(row));
  }
  std::ranges::sort(report.levels, [](const LevelRow& a, const LevelRow& b) {
    return std::tie(b.up_ns, a.level, a.pid, a.tid, a.process) <
           std::tie(a.up_ns, b.level, b.pid, b.tid, b.process);
  });
}

}  // namespace countrace::rmap
