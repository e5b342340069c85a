// `perf stat -x,` (also -A and -I), and `likwid-perfctr -O`:
//
//   [TIME,][CPU0,]VALUE,UNIT,EVENT,RUN_NS,PERCENT,...
//
//   TABLE,Group 1 Raw,FLOPS_DP,...
//   Event,Counter,HWThread 0,HWThread 1
//   INSTR_RETIRED_ANY,FIXC0,1234,5678
#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "base/text/source_place.h"
#include "logformat/import/listing/listing.h"
#include "logformat/packet_layout.h"

namespace countrace::importer {
namespace {

using Fields = std::vector<std::string>;

// A time of perf's is below this.
constexpr double kMostSeconds = 1e9;
constexpr std::uint64_t kMostRunNs = 1'000'000'000'000'000'000;

bool IsReal(const std::string& text, double& value) {
  return !text.empty() && (absl::ascii_isdigit(text[0]) != 0) &&
         absl::SimpleAtod(text, &value) && value >= 0;
}

// A line of perf's.
struct PerfLine {
  std::optional<double> seconds;
  std::int32_t cpu = 0;
  std::string other;  // what else the counts are of: "S0"
  std::string value, unit, event;
  std::uint64_t run_ns = 0;
  double percent = 0;
  bool is_mean = false;  // of several runs
};

std::optional<PerfLine> ParsePerfLine(const std::string& line) {
  Fields fields = absl::StrSplit(line, ',');
  for (std::string& field : fields) absl::StripAsciiWhitespace(&field);
  double number = 0;
  const auto is_value = [&](std::size_t i) {
    return IsReal(fields[i], number) || fields[i].starts_with("<not ");
  };
  for (std::size_t i = 0; i < 4 && i + 4 < fields.size(); ++i) {
    const bool unit = std::all_of(
        fields[i + 1].begin(), fields[i + 1].end(),
        [](unsigned char c) { return absl::ascii_isalpha(c) != 0; });
    if (!is_value(i) || !unit || fields[i + 2].empty()) continue;
    // The event may have separators: cpu/event=0x3c,umask=0/.
    std::size_t run = i + 3;
    while (run + 1 < fields.size() && !(base::ParseInteger(fields[run]) &&
                                        IsReal(fields[run + 1], number))) {
      ++run;
    }
    if (run + 1 >= fields.size()) continue;
    PerfLine made;
    for (std::size_t before = 0; before < i; ++before) {
      const std::string& field = fields[before];
      const auto cpu = field.starts_with("CPU")
                           ? base::ParseInteger(field.substr(3))
                           : std::nullopt;
      if (cpu && *cpu < kMaxListingCpus) {
        made.cpu = static_cast<std::int32_t>(*cpu);
      } else if (before == 0 && absl::StrContains(field, ".") &&
                 IsReal(field, number) && number < kMostSeconds) {
        made.seconds = number;
      } else if (made.other.empty()) {
        made.other = field;
      }
    }
    made.value = fields[i];
    made.unit = fields[i + 1];
    // With -r the noise of the runs stands between: "0.52%".
    made.is_mean = run > i + 3 && fields[run - 1].ends_with('%');
    made.event = absl::StrJoin(
        fields.begin() + static_cast<std::ptrdiff_t>(i) + 2,
        fields.begin() +
            static_cast<std::ptrdiff_t>(made.is_mean ? run - 1 : run),
        ",");
    made.run_ns = *base::ParseInteger(fields[run]);
    IsReal(fields[run + 1], made.percent);
    return made;
  }
  return std::nullopt;
}

std::string TooMany(const std::string& event) {
  return absl::StrFormat(
      "`%s` is more than the %d events that a trace of a listing has: count "
      "them in several runs",
      event, logformat::kMaxDumpValues);
}

bool IsLeftOut(const std::string& line) {
  return line.empty() || line.starts_with('#');
}

// A second metric of an event, which perf prints in a line of its own behind
// empty fields, or the head of such lines.
bool IsMetric(const std::string& line) {
  return absl::StrContains(line, ",,") && !absl::StrContains(line, "<not ");
}

Fields LinesOf(std::string_view text) {
  Fields lines = absl::StrSplit(std::string(text), '\n');
  for (std::string& line : lines) absl::StripTrailingAsciiWhitespace(&line);
  return lines;
}

class PerfStat {
 public:
  explicit PerfStat(const std::string& file) : file_(file) {
    listing_.tool = "perf stat";
  }

  absl::StatusOr<Listing> Parse(std::string_view text) {
    for (const std::string& line : LinesOf(text)) {
      ++line_;
      if (IsLeftOut(line)) continue;
      const auto parsed = ParsePerfLine(line);
      if (!parsed && !listing_.events.empty() && IsMetric(line)) continue;
      if (!parsed) {
        return Error(
            "wanted VALUE,UNIT,EVENT,RUN_NS,PERCENT,... of `perf stat "
            "-x,`");
      }
      if (absl::Status taken = Take(*parsed); !taken.ok()) return taken;
    }
    for (const auto& [event, times] : not_counted_) {
      listing_.not_known.push_back(absl::StrFormat(
          "what `%s` counted where perf printed <not counted>, %d times: the "
          "counts are without it",
          event, times));
    }
    for (const auto& [event, percent] : scaled_) {
      listing_.not_known.push_back(absl::StrFormat(
          "how exact the counts of `%s` are: perf counted it %.2f %% of the "
          "time and scaled it up",
          event, percent));
    }
    if (means_) {
      listing_.not_known.emplace_back(
          "the counts of each run: perf printed the means of several (-r)");
    }
    if (!timed_) {
      listing_.not_known.emplace_back(
          "how long it took: shown is the longest time for which an event was "
          "counted, added up over CPUs and threads");
    }
    return Rows();
  }

 private:
  absl::Status Error(const std::string& what) const {
    return base::ErrorAt({file_, line_, 1}, what);
  }

  absl::Status Take(const PerfLine& line) {
    if (line.run_ns > kMostRunNs) {
      return Error(absl::StrFormat("%d ns of running, more than %d",
                                   line.run_ns, kMostRunNs));
    }
    means_ |= line.is_mean;
    if (!line.other.empty()) {
      return Error(absl::StrFormat(
          "counts of %s; a trace has those of CPUs: `perf stat -A -x,`, or "
          "without options that group them",
          base::EscapeName(line.other)));
    }
    const std::string event = base::EscapeName(line.event);
    const auto time_ns =
        static_cast<std::uint64_t>(line.seconds.value_or(0) * 1e9);
    timed_ |= line.seconds.has_value();
    longest_ns_ = std::max(longest_ns_, line.run_ns);
    double value = 0;
    if (line.value == "<not supported>") {
      listing_.not_known.push_back("counts of `" + event +
                                   "`: perf printed <not supported>");
      return absl::OkStatus();
    }
    if (!IsReal(line.value, value)) {
      ++not_counted_[event];
      return absl::OkStatus();
    }
    if (line.percent < 100) {
      const auto known = scaled_.emplace(event, line.percent).first;
      known->second = std::min(known->second, line.percent);
    }
    auto count = base::ParseInteger(line.value);
    // A clock's exact time is how long it ran.
    if (line.unit == "msec") count = line.run_ns;
    if (!count) {
      return Error(absl::StrFormat("`%s` %s of `%s` is no count",
                                   base::EscapeName(line.value),
                                   base::EscapeName(line.unit), event));
    }
    // The context switches of a trace have records; these have none, and so
    // perf's other name.
    std::string name = line.event;
    constexpr std::string_view kSwitches = "context-switches";
    if (name.starts_with(kSwitches)) name.replace(0, kSwitches.size(), "cs");
    const auto known =
        std::find(listing_.events.begin(), listing_.events.end(), name);
    const auto column =
        static_cast<std::size_t>(known - listing_.events.begin());
    if (known == listing_.events.end()) {
      if (column == logformat::kMaxDumpValues) return Error(TooMany(event));
      listing_.events.push_back(name);
    }
    auto& counts = counts_[line.cpu][time_ns];
    if (!counts.emplace(column, *count).second) {
      return Error(
          absl::StrFormat("`%s` of CPU %d a second time: a trace is of one run",
                          event, line.cpu));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Listing> Rows() {
    if (listing_.events.empty()) return Error("perf counted no event");
    listing_.has_times = true;
    for (const auto& [cpu, times] : counts_) {
      Listing::Row row{cpu, 0, {}};
      row.counts.resize(listing_.events.size(), 0);
      for (const auto& [time_ns, counts] : times) {
        row.time_ns = timed_ ? time_ns : longest_ns_;
        for (const auto& [column, count] : counts) {
          if (__builtin_add_overflow(row.counts[column], count,
                                     &row.counts[column])) {
            return Error(absl::StrFormat(
                "`%s` of CPU %d: the sum of its counts up to %d ns is more "
                "than 2^64 - 1",
                base::EscapeName(listing_.events[column]), cpu, time_ns));
          }
        }
        listing_.rows.push_back(row);
      }
    }
    return std::move(listing_);
  }

  const std::string& file_;
  Listing listing_;
  std::size_t line_ = 0;
  bool timed_ = false, means_ = false;
  std::uint64_t longest_ns_ = 0;
  std::map<std::string, std::uint64_t> not_counted_;
  std::map<std::string, double> scaled_;
  // By CPU, time and column.
  std::map<std::int32_t,
           std::map<std::uint64_t, std::map<std::size_t, std::uint64_t>>>
      counts_;
};

constexpr std::string_view kTable = "TABLE,";

class Likwid {
 public:
  explicit Likwid(const std::string& file) : file_(file) {
    listing_.tool = "likwid-perfctr";
  }

  absl::StatusOr<Listing> Parse(std::string_view text) {
    bool inside = false;
    for (const std::string& line : LinesOf(text)) {
      ++line_;
      Fields fields = absl::StrSplit(line, ',');
      while (!fields.empty() && fields.back().empty()) fields.pop_back();
      absl::Status status;
      if (line.starts_with(kTable) || line.starts_with("STRUCT,")) {
        // Behind the name of a marked region, if there is one.
        inside = std::any_of(
            fields.begin(), fields.end(),
            [](const std::string& field) { return field.ends_with(" Raw"); });
        if (inside && !listing_.rows.empty()) {
          return Error(
              "a second table of counts begins: a trace is of one; "
              "split the file");
        }
      } else if (inside && !fields.empty()) {
        status = fields[0] == "Event" ? Header(fields) : Event(fields);
      }
      if (!status.ok()) return status;
    }
    if (listing_.events.empty())
      return Error("there is no table `Group N Raw`");
    return std::move(listing_);
  }

 private:
  absl::Status Error(const std::string& what) const {
    return base::ErrorAt({file_, line_, 1}, what);
  }

  // "Event,Counter,HWThread 0,..."; older versions: "Core 0".
  absl::Status Header(const Fields& fields) {
    if (!listing_.rows.empty()) return Error("a second line of columns");
    for (std::size_t i = 2; i < fields.size(); ++i) {
      const auto cpu =
          base::ParseInteger(fields[i].substr(fields[i].rfind(' ') + 1));
      const std::int64_t next =
          listing_.rows.empty() ? 0 : listing_.rows.back().cpu + 1;
      if (!cpu || *cpu >= kMaxListingCpus ||
          static_cast<std::int64_t>(*cpu) < next) {
        return Error(absl::StrFormat("column `%s` is no CPU from %d to %d",
                                     base::EscapeName(fields[i]), next,
                                     kMaxListingCpus - 1));
      }
      listing_.rows.push_back({static_cast<std::int32_t>(*cpu), 0, {}});
    }
    return listing_.rows.empty() ? Error("no column of a CPU")
                                 : absl::OkStatus();
  }

  absl::Status Event(const Fields& fields) {
    if (fields.size() != listing_.rows.size() + 2 || listing_.rows.empty()) {
      return Error(absl::StrFormat(
          "%d columns, and %d CPUs above",
          fields.size() - std::min<std::size_t>(fields.size(), 2),
          listing_.rows.size()));
    }
    std::vector<std::uint64_t> counts;
    for (std::size_t i = 2; i < fields.size(); ++i) {
      const auto count = base::ParseInteger(fields[i]);
      if (!count && fields[i] != "-") {
        listing_.not_known.push_back(absl::StrFormat(
            "`%s` of %s: `%s` is no count", base::EscapeName(fields[0]),
            base::EscapeName(fields[1]), base::EscapeName(fields[i])));
        return absl::OkStatus();
      }
      // Another CPU of the socket counts it.
      counts.push_back(count.value_or(0));
    }
    std::string name = fields[0];
    if (std::find(listing_.events.begin(), listing_.events.end(), name) !=
        listing_.events.end()) {
      name += "." + fields[1];
    }
    if (listing_.events.size() == logformat::kMaxDumpValues) {
      return Error(TooMany(base::EscapeName(name)));
    }
    listing_.events.push_back(std::move(name));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      listing_.rows[i].counts.push_back(counts[i]);
    }
    return absl::OkStatus();
  }

  const std::string& file_;
  Listing listing_;
  std::size_t line_ = 0;
};

}  // namespace

absl::StatusOr<Listing> ParsePerfStat(std::string_view text,
                                      const std::string& file) {
  return PerfStat(file).Parse(text);
}

absl::StatusOr<Listing> ParseLikwid(std::string_view text,
                                    const std::string& file) {
  return Likwid(file).Parse(text);
}

ListingKind ListingKindOf(std::string_view head) {
  if (head.starts_with("pmcount ")) return ListingKind::kPmcount;
  if (head.starts_with(kTable) || head.starts_with("STRUCT,")) {
    return ListingKind::kLikwid;
  }
  for (const std::string& line : LinesOf(head.substr(0, kListingHead))) {
    if (IsLeftOut(line)) continue;
    return ParsePerfLine(line) ? ListingKind::kPerfStat : ListingKind::kNone;
  }
  return ListingKind::kNone;
}

}  // namespace countrace::importer
