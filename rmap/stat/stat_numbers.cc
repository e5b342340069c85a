#include "rmap/stat/stat_numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "logformat/perf_event_names.h"
#include "rmap/columns/report_columns.h"
#include "rmap/result/limits.h"
#include "rmap/tables/bounds/bounds_summary.h"

namespace countrace::rmap {
namespace {

// Adds up a number of rows with the intervals of those that are not exact.
class NumberSum {
 public:
  void Add(std::uint64_t value, const RowBounds& bounds, Number number) {
    value_ += value;
    const auto interval = bounds.Of(number);
    const Bounds of_row = interval.value_or(Bounds{value, value});
    lo_ += of_row.lo;
    hi_ = AddBounded(hi_, of_row.hi);
    exact_ &= !interval;
  }
  void AddUpTo(std::uint64_t more) {
    hi_ = AddBounded(hi_, more);
    exact_ = false;
  }
  void AddTo(StatNumber& number) const {
    number.value = value_;
    if (exact_) return;
    number.bounds = {lo_, hi_};
    number.quality = Quality::kBounded;
  }
  std::uint64_t more() const {
    return hi_ == Bounds::kNone ? Bounds::kNone : hi_ - value_;
  }

 private:
  std::uint64_t value_ = 0, lo_ = 0, hi_ = 0;
  bool exact_ = true;
};

StatNumber OnCpu(const Report& report) {
  StatNumber number{.name = "on-cpu", .is_time = true};
  NumberSum sum;
  for (const ProcessRow& row : report.processes) {
    sum.Add(row.on_cpu_ns.value_or(0), row.bounds, rmap::Number::kOnCpu);
  }
  sum.AddTo(number);
  return number;
}

// A thread that never ran has no such time: it may have waited, or been
// blocked, all the time.
StatNumber OffCpu(const Report& report, const char* name,
                  std::optional<std::uint64_t> ThreadRow::*time,
                  rmap::Number kind) {
  StatNumber number{.name = name, .is_time = true};
  NumberSum sum;
  for (const ThreadRow& row : report.threads) {
    if (row.*time) {
      sum.Add(*(row.*time), row.bounds, kind);
    } else {
      sum.AddUpTo(report.elapsed_ns());
      number.note = "threads did not run all the time: --by thread names them";
    }
  }
  sum.AddTo(number);
  return number;
}

void AddSwitches(const Report& report, const SwitchTotals& totals,
                 std::vector<StatNumber>& numbers) {
  NumberSum dispatches, migrations;
  for (const ThreadRow& row : report.threads) {
    dispatches.Add(row.dispatches, row.bounds, rmap::Number::kDispatches);
    migrations.Add(row.migrations, row.bounds, rmap::Number::kMigrations);
  }
  const std::uint64_t more =
      AddBounded(totals.unknown(report.end_ns), dispatches.more());
  std::vector<std::pair<const char*, std::uint64_t>> switches = {
      {"voluntary-switches", totals.voluntary()},
      {"involuntary-switches", totals.involuntary()}};
  // One for each thread that the cgroup's nr_throttled stops.
  if (report.throttled) switches.emplace_back("throttles", totals.throttled());
  for (const auto& [name, value] : switches) {
    StatNumber number{.name = name, .value = value};
    if (more != 0) {
      number.bounds = {value, AddBounded(value, more)};
      number.quality = Quality::kBounded;
    }
    numbers.push_back(std::move(number));
  }
  StatNumber number{.name = "migrations"};
  migrations.AddTo(number);
  numbers.push_back(std::move(number));
}

// What makes a count a lower bound, for its note.
std::string DoubtOf(const BooksDoubt& doubt) {
  const auto time = [](std::uint64_t ns) {
    return base::FormatNanoseconds(static_cast<double>(ns));
  };
  if (doubt.went_back_intervals != 0) {
    return absl::StrFormat(
        "reset or taken by another program for %s: count it alone",
        time(doubt.went_back_ns));
  }
  if (doubt.other_mmcr_intervals != 0) {
    return absl::StrFormat("counted something else for %s: count it alone",
                           time(doubt.other_mmcr_ns));
  }
  if (doubt.wrapped_intervals == 0) {
    return "what was counted from one record to the next is cut by a begin or "
           "a pause";
  }
  return absl::StrFormat(
      "may have wrapped more than once in %s: --every 1s reads it more often",
      time(doubt.wrapped_ns));
}

// Why numbers have limits, and what helps.
std::string WhyBounded(const Report& report) {
  return absl::StrJoin(BoundsReasons(report), "; ",
                       [](std::string* out, const BoundsReason& reason) {
                         absl::StrAppendFormat(out, "%s: %s", reason.what,
                                               reason.remedy);
                       });
}

void SetEstimate(const ScaledCount& count, StatNumber& number) {
  number.value = count.value;
  number.quality = Quality::kScaled;
  number.bounds = count.Limits();
  number.standard_error = count.standard_error;
  if (count.enabled != 0) {
    number.counted_share =
        static_cast<double>(count.running) / static_cast<double>(count.enabled);
  }
}

// Absent: no CPU counted it.
std::optional<StatNumber> EventNumber(const Report& report, std::size_t event) {
  const Books& books = report.books[event];
  const std::string& name = report.events[event].name;
  if (!books.known) return std::nullopt;
  StatNumber number{.name = name,
                    .is_time = UnitOfEvent(name) == Unit::kNanoseconds};
  if (books.scaled) {
    if (!books.scaled->tasks) return std::nullopt;
    SetEstimate(*books.scaled->tasks, number);
    return number;
  }
  number.value = books.processes + books.own + books.interrupts;
  std::uint64_t most = number.value;
  // Counted, but not known whose. If everybody's is asked for, that is no
  // doubt.
  const std::uint64_t homeless =
      books.unattributed +
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, books.residual));
  if (report.scope == "system" && report.marks.empty()) {
    number.value += homeless;
  } else if (homeless != 0) {
    most = AddBounded(most, homeless);
    number.bounds = {number.value, most};
    number.quality = Quality::kBounded;
    number.note = absl::StrFormat(
        "up to %s more, whose thread is not known: %s",
        number.is_time ? base::FormatNanoseconds(static_cast<double>(homeless))
                       : base::FormatCount(homeless),
        WhyBounded(report));
  }
  if (const BooksDoubt& doubt = books.doubt; doubt.any()) {
    number.bounds = {number.value, doubt.only_cut()
                                       ? AddBounded(most, doubt.cut_counts)
                                       : Bounds::kNone};
    number.quality = Quality::kBounded;
    number.note = DoubtOf(books.doubt);
  }
  return number;
}

}  // namespace

std::vector<StatNumber> StatNumbersOf(const Report& report,
                                      const SwitchTotals& totals) {
  std::vector<StatNumber> numbers;
  if (report.books.empty()) return numbers;
  numbers.push_back(OnCpu(report));
  if (report.wakeups) {
    numbers.push_back(OffCpu(report, "run-queue-wait", &ThreadRow::wait_ns,
                             rmap::Number::kWait));
    numbers.push_back(OffCpu(report, "blocked", &ThreadRow::blocked_ns,
                             rmap::Number::kBlocked));
  }
  if (report.throttled) {
    numbers.push_back(OffCpu(report, "throttled", &ThreadRow::throttled_ns,
                             rmap::Number::kThrottled));
  }
  AddSwitches(report, totals, numbers);
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    if (auto number = EventNumber(report, i)) {
      numbers.push_back(*std::move(number));
    }
  }
  for (StatNumber& number : numbers) {
    if (totals.end_is_lost()) {
      if (!number.bounds) number.bounds = {number.value, 0};
      number.bounds->hi = Bounds::kNone;
      number.quality = Quality::kBounded;
      number.note.clear();
    }
    if (number.quality != Quality::kBounded || !number.note.empty()) continue;
    number.note = WhyBounded(report);
  }
  return numbers;
}

std::vector<std::string> NotCountedNotes(const Report& report) {
  std::vector<std::string> without_turn, uncounted;
  for (std::size_t i = 0; i < report.books.size(); ++i) {
    if (EventNumber(report, i)) continue;
    const auto& event = report.events[i];
    (event.scaled ? without_turn : uncounted)
        .push_back(base::EscapeName(event.name));
  }
  std::vector<std::string> notes;
  if (!without_turn.empty()) {
    notes.push_back(absl::StrFormat(
        "not counted, because none of the turns of their sets came while a "
        "counted process ran (a longer run, a shorter --rotate or fewer sets "
        "count them): %s",
        absl::StrJoin(without_turn, ", ")));
  }
  if (!uncounted.empty()) {
    notes.push_back("not counted by any CPU: " +
                    absl::StrJoin(uncounted, ", "));
  }
  return notes;
}

std::vector<StatNumber> UserAndSystem(
    std::uint64_t user_ns, std::uint64_t system_ns, std::uint64_t total_ns,
    const std::optional<Bounds>& total_limits) {
  StatNumber user{.name = "user", .is_time = true, .is_part = true};
  StatNumber system{.name = "system", .is_time = true, .is_part = true};
  const double sum = static_cast<double>(user_ns + system_ns);
  if (total_ns == 0 || sum == 0) return {};
  constexpr double kTickNs = 1e7, kZ = 1.96;
  const double total = static_cast<double>(total_ns);
  const double samples = total / kTickNs;
  const double share = static_cast<double>(user_ns) / sum;
  const double widening = 1 + kZ * kZ / samples;
  const double middle = (share + kZ * kZ / (2 * samples)) / widening;
  const double half = kZ / widening *
                      std::sqrt(share * (1 - share) / samples +
                                kZ * kZ / (4 * samples * samples));
  const Bounds limits = total_limits.value_or(Bounds{total_ns, total_ns});
  const auto part = [](std::uint64_t whole, double of_it) {
    if (whole == Bounds::kNone) return whole;
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(whole) * std::clamp(of_it, 0.0, 1.0)));
  };
  const double least = middle - half, most = middle + half;
  user.value = part(total_ns, share);
  system.value = total_ns - user.value;
  user.bounds = {part(limits.lo, least), part(limits.hi, most)};
  system.bounds = {part(limits.lo, 1 - most), part(limits.hi, 1 - least)};
  for (StatNumber* const number : {&user, &system}) {
    number->quality = Quality::kScaled;
    // Not 0 where no tick found the other one.
    number->standard_error = total * half / kZ;
  }
  return {user, system};
}

}  // namespace countrace::rmap
