#include "rmap/stat/stat_render.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "rmap/stat/costs.h"

namespace countrace::rmap {
namespace {

using Align = base::TextTable::Align;
using Json = nlohmann::ordered_json;

std::string Quantity(double value, bool is_time) {
  if (is_time) return base::FormatNanoseconds(value);
  return base::FormatCount(static_cast<std::uint64_t>(std::llround(value)));
}

std::string IntervalText(double lo, double hi, bool is_time) {
  return absl::StrFormat("[%s, %s]", Quantity(lo, is_time),
                         Quantity(hi, is_time));
}

std::string IntervalText(const Bounds& bounds, bool is_time) {
  if (bounds.hi == Bounds::kNone) {
    return absl::StrFormat("at least %s",
                           Quantity(static_cast<double>(bounds.lo), is_time));
  }
  return IntervalText(static_cast<double>(bounds.lo),
                      static_cast<double>(bounds.hi), is_time);
}

// The value of a number in the first run that has it; 0: none has.
double ValueOf(const StatResult& result, const std::string& name) {
  for (const StatNumber& number : result.runs.front()) {
    if (number.name == name) return static_cast<double>(number.value);
  }
  return 0;
}

// What the number means beside the others.
std::string Remark(const StatResult& result, const std::string& name,
                   double value, double elapsed_ns) {
  if (name == "on-cpu" && elapsed_ns > 0) {
    return absl::StrFormat("%.2f of %d CPUs", value / elapsed_ns, result.cpus);
  }
  return "";
}

std::string NameText(const std::string& name, bool is_part) {
  return (is_part ? "  " : "") + base::EscapeName(name);
}

// Before the value.
const char* MarkOf(Quality quality) {
  if (quality == Quality::kExact) return "";
  return quality == Quality::kScaled ? "~" : "b ";
}

base::TextTable OneRun(const StatResult& result) {
  base::TextTable table;
  table.AddColumn("value", Align::kRight);
  table.AddColumn("of", Align::kLeft);
  bool any_error = false, any_interval = false, any_remark = false;
  const std::vector<StatNumber>& numbers = result.runs.front();
  std::vector<std::vector<std::string>> rows;
  const double elapsed_ns = ValueOf(result, "elapsed");
  for (const StatNumber& number : numbers) {
    const double value = static_cast<double>(number.value);
    std::string error, interval;
    std::string remark = Remark(result, number.name, value, elapsed_ns);
    if (!number.note.empty()) {
      remark += (remark.empty() ? "" : "; ") + number.note;
    }
    if (number.standard_error) {
      error = absl::StrFormat("+- %s",
                              Quantity(*number.standard_error, number.is_time));
    }
    if (number.bounds) interval = IntervalText(*number.bounds, number.is_time);
    if (number.counted_share) {
      remark = absl::StrFormat("counted for %.1f %% of the time",
                               100 * *number.counted_share);
    }
    any_error |= !error.empty();
    any_interval |= !interval.empty();
    any_remark |= !remark.empty();
    rows.push_back({MarkOf(number.quality) + Quantity(value, number.is_time),
                    NameText(number.name, number.is_part), error, interval,
                    remark});
  }
  if (any_error) table.AddColumn("standard error", Align::kRight);
  if (any_interval) table.AddColumn("interval", Align::kLeft);
  if (any_remark) table.AddColumn("", Align::kLeft);
  for (std::vector<std::string>& row : rows) {
    std::vector<std::string> cells = {row[0], row[1]};
    if (any_error) cells.push_back(row[2]);
    if (any_interval) cells.push_back(row[3]);
    if (any_remark) cells.push_back(row[4]);
    table.AddRow(std::move(cells));
  }
  return table;
}

base::TextTable Repeated(const StatResult& result) {
  base::TextTable table;
  table.AddColumn("mean", Align::kRight);
  table.AddColumn("of", Align::kLeft);
  table.AddColumn("+-", Align::kRight);
  table.AddColumn("95 % interval of the mean", Align::kLeft);
  for (const RepeatedNumber& number : RepeatedNumbersOf(result.runs)) {
    std::string share, interval;
    if (number.lo && !number.hi) {
      interval =
          absl::StrFormat("at least %s", Quantity(*number.lo, number.is_time));
    } else if (number.hi) {
      if (number.mean > 0) {
        share = absl::StrFormat("%.2f %%",
                                100 * (*number.hi - number.mean) / number.mean);
      }
      interval = IntervalText(*number.lo, *number.hi, number.is_time);
    }
    if (number.values.size() < result.runs.size()) {
      interval += absl::StrFormat(" of %d runs", number.values.size());
    }
    if (!number.note.empty()) interval += "  " + number.note;
    table.AddRow(
        {MarkOf(number.quality) + Quantity(number.mean, number.is_time),
         NameText(number.name, number.is_part), share, interval});
  }
  return table;
}

Json UpperLimit(const Bounds& bounds) {
  if (bounds.hi == Bounds::kNone) return nullptr;
  return bounds.hi;
}

Json JsonOf(const StatNumber& number) {
  Json json = {{"name", number.name},
               {"unit", number.is_time ? "ns" : "count"},
               {"value", number.value},
               {"quality", QualityName(number.quality)}};
  if (number.bounds) {
    json["lo"] = number.bounds->lo;
    json["hi"] = UpperLimit(*number.bounds);
  }
  if (number.standard_error) json["standard_error"] = *number.standard_error;
  if (number.counted_share) json["counted_share"] = *number.counted_share;
  if (!number.note.empty()) json["note"] = number.note;
  return json;
}

Json JsonOf(const RepeatedNumber& number) {
  Json json = {{"name", number.name},
               {"unit", number.is_time ? "ns" : "count"},
               {"mean", number.mean},
               {"quality", QualityName(number.quality)},
               {"values", number.values}};
  if (!number.note.empty()) json["note"] = number.note;
  if (number.deviation) {
    json["deviation"] = *number.deviation;
    json["lo"] = *number.lo;
    json["hi"] = number.hi ? Json(*number.hi) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string StatText(const StatResult& result, std::size_t width, bool color) {
  const bool one = result.runs.size() == 1;
  std::string text = absl::StrFormat("COUNTS of %s", result.of);
  if (!one) absl::StrAppendFormat(&text, ", %d runs", result.runs.size());
  text += "\n" + (one ? OneRun(result) : Repeated(result)).Render(width, color);
  for (const std::string& note : result.notes) text += "  (" + note + ")\n";
  if (result.costs) {
    text += "\n" +
            CostsText(*result.costs, CountedEvents(result.runs), width, color);
  }
  return text;
}

std::string StatJson(const StatResult& result) {
  Json json = {{"schema", "countrace.stat/1"},
               {"of", result.of},
               {"cpus", result.cpus},
               {"runs", result.runs.size()}};
  if (result.exit_status) json["exit_status"] = *result.exit_status;
  Json& numbers = json["numbers"] = Json::array();
  if (result.runs.size() == 1) {
    for (const StatNumber& number : result.runs.front()) {
      numbers.push_back(JsonOf(number));
    }
  } else {
    for (const RepeatedNumber& number : RepeatedNumbersOf(result.runs)) {
      numbers.push_back(JsonOf(number));
    }
  }
  if (!result.rows_json.empty()) {
    const Json rows = Json::parse(result.rows_json, nullptr, false);
    for (const char* table : {"processes", "threads", "loss"}) {
      if (rows.contains(table)) json[table] = rows[table];
    }
  }
  if (result.costs) {
    Json& costs = json["costs"] = Json::array();
    for (const CostRow& row :
         CostsOf(*result.costs, CountedEvents(result.runs))) {
      costs.push_back({{"name", row.counted.name},
                       {"count", row.counted.value},
                       {"typical_ns", row.typical_ns},
                       {"min_ns", row.min_ns},
                       {"max_ns", std::isfinite(row.max_ns) ? Json(row.max_ns)
                                                            : Json(nullptr)}});
    }
  }
  if (!result.notes.empty()) json["notes"] = result.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string StatCsv(const StatResult& result) {
  std::string csv =
      "name,unit,value,lo,hi,standard_error,counted_share,quality,runs\n";
  const auto line = [&csv](const std::string& name, bool is_time,
                           const std::string& rest) {
    csv += base::CsvField(base::EscapeName(name));
    csv += is_time ? ",ns," : ",count,";
    csv += rest + "\n";
  };
  if (result.runs.size() > 1) {
    for (const RepeatedNumber& number : RepeatedNumbersOf(result.runs)) {
      std::string rest = absl::StrFormat("%.15g,", number.mean);
      if (number.lo) absl::StrAppendFormat(&rest, "%.15g", *number.lo);
      rest += ",";
      if (number.hi) absl::StrAppendFormat(&rest, "%.15g", *number.hi);
      absl::StrAppendFormat(&rest, ",,,%s,%d", QualityName(number.quality),
                            number.values.size());
      line(number.name, number.is_time, rest);
    }
    return csv;
  }
  for (const StatNumber& number : result.runs.front()) {
    std::string rest = absl::StrFormat("%d,", number.value);
    if (number.bounds) {
      absl::StrAppendFormat(&rest, "%d,", number.bounds->lo);
      if (number.bounds->hi != Bounds::kNone) {
        absl::StrAppendFormat(&rest, "%d", number.bounds->hi);
      }
    } else {
      absl::StrAppendFormat(&rest, "%d,%d", number.value, number.value);
    }
    rest += ",";
    if (number.standard_error) {
      absl::StrAppendFormat(&rest, "%.6g", *number.standard_error);
    }
    rest += ",";
    if (number.counted_share) {
      absl::StrAppendFormat(&rest, "%.6g", *number.counted_share);
    }
    absl::StrAppendFormat(&rest, ",%s,1", QualityName(number.quality));
    line(number.name, number.is_time, rest);
  }
  return csv;
}

}  // namespace countrace::rmap
