#include "rmap/diff/diff_sections.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/diff/change_format.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap::diff {

namespace {

std::string Side(const std::vector<TraceOfSide>& traces) {
  std::string text;
  for (const TraceOfSide& trace : traces) {
    text += (text.empty() ? "" : ", ") + trace.path;
  }
  return text;
}

const char* Mark(const Change& change) {
  switch (change.verdict) {
    case Verdict::kWithinNoise:
      return "~";
    case Verdict::kMayBeLoss:
      return "?";
    case Verdict::kBeyondNoise:
    case Verdict::kNoiseUnknown:
      return "";
  }
  return "?";
}

std::string Share(const MetricChange& metric) {
  return metric.share ? FormatPercent(*metric.share) : "";
}

std::string DetectableCell(const Change& change) {
  return change.detectable && change.before > 0
             ? FormatDetectable(*change.detectable / change.before)
             : "";
}

std::string PerCall(const MetricChange& metric) {
  if (!metric.per_call) return "";
  const Change& change = *metric.per_call;
  return FormatAmount(change.before, metric.is_time) + " -> " +
         FormatAmount(change.after, metric.is_time);
}

std::vector<std::string> Cells(const MetricChange& metric) {
  const Change& self = metric.self;
  return {metric.metric,
          FormatEstimate(self.before, self.error_before, metric.is_time),
          FormatEstimate(self.after, self.error_after, metric.is_time),
          FormatRatio(self.before, self.after),
          self.constant ? "always equal" : FormatInterval(self, metric.is_time),
          FormatSigned(self.value(), metric.is_time),
          Share(metric),
          PerCall(metric),
          DetectableCell(self),
          std::string(QualityMark(self.quality)) + Mark(self)};
}

std::vector<Section::Column> Columns() {
  return {
      {"metric", true},     {"before"}, {"after"}, {"ratio"},
      {"interval"},         {"change"}, {"share"}, {"per call", false, true},
      {"MDE", false, true}, {"", true}};
}

// Removes columns that no row uses.
void DropUnused(Section& section) {
  for (std::size_t i = section.columns.size(); i-- > 0;) {
    bool used = false;
    for (const Section::Group& group : section.groups) {
      for (const auto& row : group.rows) used |= !row[i].empty();
    }
    if (used) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    section.columns.erase(section.columns.begin() + place);
    for (Section::Group& group : section.groups) {
      for (auto& row : group.rows) row.erase(row.begin() + place);
    }
  }
}

struct Marks {
  std::vector<Quality> qualities;
  bool noise = false, loss = false, detectable = false;

  void Note(const Change& change) {
    qualities.push_back(change.quality);
    noise |= change.verdict == Verdict::kWithinNoise;
    detectable |= !DetectableCell(change).empty();
    loss |= change.verdict == Verdict::kMayBeLoss;
  }
};

void ExplainMarks(const Marks& marks, Section& section) {
  std::string text;
  const auto add = [&](bool used, const char* meaning) {
    if (used) text += (text.empty() ? "" : "; ") + std::string(meaning);
  };
  const auto has = [&](Quality quality) {
    return std::find(marks.qualities.begin(), marks.qualities.end(), quality) !=
           marks.qualities.end();
  };
  add(has(Quality::kScaled), "s: estimated, its event set took turns");
  add(has(Quality::kBounded), "b: bounded, records were lost");
  add(has(Quality::kInferred),
      "i: inferred, an enter, exit or switch was not recorded");
  add(marks.noise, "~: within noise");
  add(marks.loss, "?: what was lost may explain it");
  add(marks.detectable,
      "MDE, minimum detectable effect: a change of this size is found with "
      "80 % probability");
  if (!text.empty()) section.footers.push_back(text);
}

}  // namespace

std::vector<std::string> SideLines(const Diff& diff) {
  return {"before: " + Side(diff.before), "after: " + Side(diff.after)};
}

Section TotalsSection(const Diff& diff) {
  Section section;
  section.title = "TOTAL of all processes, per run";
  section.columns = Columns();
  section.groups.emplace_back();
  Marks marks;
  for (const MetricChange& total : diff.totals) {
    // Totals are few: also show those without a change.
    section.groups.back().rows.push_back(Cells(total));
    marks.Note(total.self);
  }
  ExplainMarks(marks, section);
  DropUnused(section);
  return section;
}

Section RowsSection(const Diff& diff, const DiffRenderOptions& options) {
  Section section;
  section.title = "CHANGES by call path, without the segments inside, per run";
  section.columns = Columns();
  Marks marks;
  std::size_t shown = 0, left = 0;
  for (const RowChange& row : diff.rows) {
    if (!options.all && !row.Differs()) continue;
    if (options.max_rows != 0 && shown == options.max_rows) {
      ++left;
      continue;
    }
    ++shown;
    Section::Group group;
    group.heading = PathText(row.path) + " (" + ProcessText(row) + ")";
    if (row.presence == RowChange::Presence::kOnlyBefore) {
      group.heading += ", only before";
    } else if (row.presence == RowChange::Presence::kOnlyAfter) {
      group.heading += ", only after";
    }
    for (const MetricChange& metric : row.metrics) {
      if (!options.all && !metric.Differs()) continue;
      group.rows.push_back(Cells(metric));
      marks.Note(metric.self);
    }
    section.groups.push_back(std::move(group));
  }
  if (left != 0) {
    section.footers.push_back(
        absl::StrFormat("%d more rows not shown (--rows 0 shows them)", left));
  }
  if (diff.rows_within_noise != 0 && !options.all) {
    section.footers.push_back(absl::StrFormat(
        "%d of %d rows %s; --all shows them", diff.rows_within_noise,
        diff.rows.size(), diff.IsOneRunEach() ? "are equal" : "within noise"));
  }
  // The totals explain it, and it is the first column without room.
  marks.detectable = false;
  ExplainMarks(marks, section);
  DropUnused(section);
  return section;
}

Section BalanceSection(const Diff& diff) {
  Section section;
  section.title = "BALANCE of the change, per run";
  section.columns = {{"metric", true},    {"total"},        {"in segments"},
                     {"not in segments"}, {"idle"},         {"interrupts"},
                     {"outside"},         {"unattributed"}, {"residual"},
                     {"unexplained"}};
  section.groups.emplace_back();
  for (const Balance& balance : diff.balances) {
    const auto cell = [&](std::uint64_t before, std::uint64_t after) {
      return FormatSigned(static_cast<double>(Signed(after)) /
                                  static_cast<double>(diff.runs_after()) -
                              static_cast<double>(Signed(before)) /
                                  static_cast<double>(diff.runs_before()),
                          balance.is_time);
    };
    // Omits accounts that are 0 on both sides.
    const auto account = [&](std::uint64_t before, std::uint64_t after) {
      return before == 0 && after == 0 ? "" : cell(before, after);
    };
    const Accounts& a = balance.before;
    const Accounts& b = balance.after;
    section.groups.back().rows.push_back(
        {balance.metric, cell(a.total, b.total), cell(a.segments, b.segments),
         account(a.not_in_segments, b.not_in_segments), account(a.idle, b.idle),
         account(a.interrupts, b.interrupts), account(a.outside, b.outside),
         account(a.unattributed, b.unattributed),
         account(a.residual, b.residual),
         cell(a.Unexplained(), b.Unexplained())});
  }
  DropUnused(section);
  section.footers.push_back(
      "total = the accounts to its right; unexplained 0: nothing is missing");
  return section;
}

Section ThresholdsSection(const Diff& diff) {
  Section section;
  section.title = "THRESHOLDS";
  section.columns = {
      {"threshold", true}, {"of", true}, {"before"}, {"after"},
      {"change"},          {"interval"}, {"MDE"},    {"verdict", true}};
  section.groups.emplace_back();
  for (const ThresholdResult& result : diff.thresholds) {
    std::string verdict = "holds";
    if (result.verdict == ThresholdVerdict::kRegression) {
      verdict = "REGRESSION";
    } else if (result.verdict == ThresholdVerdict::kUndecided) {
      verdict = "undecided: the interval holds the threshold";
    }
    if (diff.IsOneRunEach()) verdict += ", one run each: noise not known";
    section.groups.back().rows.push_back(
        {result.text,
         result.subject + " " + result.metric +
             (result.per_call ? " per call" : ""),
         FormatEstimate(result.change.before, result.change.error_before,
                        result.is_time),
         FormatEstimate(result.change.after, result.change.error_after,
                        result.is_time),
         FormatRatio(result.change.before, result.change.after),
         FormatInterval(result.change, result.is_time),
         DetectableCell(result.change), verdict});
  }
  DropUnused(section);
  return section;
}

std::vector<std::string> NoteLines(const Diff& diff) {
  std::vector<std::string> lines = diff.notes;
  if (!diff.IsOneRunEach()) {
    std::string line = absl::StrFormat(
        "%d numbers tested, %d beyond noise, of which at most 5 %% are false "
        "(Benjamini-Hochberg); intervals are Welch's t at %.4g %%",
        diff.tests, diff.discoveries, 100 * (1 - diff.tail));
    if (diff.tail_of_small_rows != diff.tail) {
      line += absl::StrFormat(", for rows below 1 %% of the time at %.4g %%",
                              100 * (1 - diff.tail_of_small_rows));
    }
    lines.push_back(line + ".");
  }
  return lines;
}

}  // namespace countrace::rmap::diff
