#include "rmap/over_time/over_time_render.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"
#include "rmap/over_time/interval_bounds.h"
#include "rmap/over_time/over_time_text.h"

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

Json LimitsJson(const Bounds& bounds) {
  return {bounds.lo,
          bounds.hi == Bounds::kNone ? Json(nullptr) : Json(bounds.hi)};
}

std::string Dump(const Json& json, int indent) {
  // Names can contain any bytes.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json IntervalJson(const TimeSeries& series, std::size_t i) {
  Json json;
  json["begin_ns"] = series.BeginOf(i);
  json["end_ns"] = series.EndOf(i);
  if (series.has_kernel_records) {
    for (const NamedAccount& named : kNamedAccounts) {
      json["cpu_ns"][named.name] = series.Time(i, named.account);
    }
  }
  Json& counts = json["counts"] = Json::object();
  for (std::size_t event = 0; event < series.events.size(); ++event) {
    Json& count = counts[series.events[event]];
    count["total"] = series.TotalCount(i, event);
    for (const NamedAccount& named : kNamedAccounts) {
      count[named.name] = series.Count(i, named.account, event);
    }
    count["quality"] = QualityName(series.QualityOf(i, event));
  }
  if (series.has_selected) {
    Json& selected = json["selected"];
    selected["on_cpu_ns"] = series.SelectedTime(i);
    selected["counts"] = Json::object();
    for (std::size_t event = 0; event < series.events.size(); ++event) {
      selected["counts"][series.events[event]] = {
          {"count", series.SelectedCount(i, event)},
          {"quality", QualityName(series.QualityOf(i, event))}};
    }
  }
  if (series.has_calls) {
    const IntervalCalls& calls = series.Calls(i);
    json["segments"] = {
        {"calls", calls.calls},
        {"wall_ns", calls.wall_ns},
        {"on_cpu_ns",
         series.has_kernel_records ? Json(calls.on_cpu_ns) : Json(nullptr)}};
  }
  const NamedBounds bounds = BoundsOfInterval(series, i);
  if (!bounds.empty()) {
    json["qualities"] = QualitiesOfInterval(series, i).Names();
    for (const auto& [name, limits] : bounds) {
      json["bounds"][name] = LimitsJson(limits);
    }
  }
  return json;
}

Json DocumentOf(const TimeSeries& series, const char* schema) {
  Json json;
  json["schema"] = schema;
  json["trace"] = {{"path", series.path},
                   {"begin_ns", series.begin_ns},
                   {"end_ns", series.end_ns},
                   {"cpus", series.cpus},
                   {"events", series.events}};
  json["every_ns"] = series.every_ns;
  return json;
}

std::string CsvName(const std::string& name) {
  return base::CsvField(base::EscapeName(name));
}

// Names or values of one line; a number that can have an interval is followed
// by its limits, if the caller asked for them; hi empty: no upper limit.
class CsvLine {
 public:
  explicit CsvLine(bool bounds) : bounds_(bounds) {}
  void Text(const std::string& text) {
    out_ += (out_.empty() ? "" : ",") + text;
  }
  void Name(const std::string& name) {
    Text(CsvName(name));
    if (!bounds_) return;
    Text(CsvName(name + ".lo"));
    Text(CsvName(name + ".hi"));
  }
  void Value(const std::string& value, const Bounds& bounds) {
    Text(value);
    if (!bounds_) return;
    Text(std::to_string(bounds.lo));
    Text(bounds.hi == Bounds::kNone ? "" : std::to_string(bounds.hi));
  }
  void Value(std::uint64_t value, const Bounds& bounds) {
    Value(std::to_string(value), bounds);
  }
  std::string Take() { return std::move(out_) + "\n"; }

 private:
  bool bounds_;
  std::string out_;
};

std::string CsvHeader(const TimeSeries& series, bool bounds) {
  CsvLine line(bounds);
  for (const char* name : {"begin_ns", "end_ns", "offset_s"}) line.Text(name);
  if (series.has_kernel_records) {
    for (const NamedAccount& named : kNamedAccounts) {
      line.Name(std::string(named.name) + "_ns");
    }
  }
  if (series.has_selected) line.Name("selected_ns");
  if (series.has_calls) {
    for (const char* name : {"calls", "calls_wall_ns", "calls_on_cpu_ns"}) {
      line.Name(name);
    }
  }
  for (const std::string& event : series.events) {
    line.Name(event);
    if (series.has_selected) line.Name(event + ".selected");
    line.Text(CsvName(event + ".quality"));
  }
  return line.Take();
}

std::string OverTimeCsv(const TimeSeries& series, bool bounds) {
  std::string out = CsvHeader(series, bounds);
  for (std::size_t i = 0; i < series.size(); ++i) {
    CsvLine line(bounds);
    line.Text(std::to_string(series.BeginOf(i)));
    line.Text(std::to_string(series.EndOf(i)));
    line.Text(SecondsText(series, series.BeginOf(i)));
    if (series.has_kernel_records) {
      for (const NamedAccount& named : kNamedAccounts) {
        line.Value(series.Time(i, named.account),
                   TimeBounds(series, i, named.account));
      }
    }
    if (series.has_selected) {
      line.Value(series.SelectedTime(i), SelectedTimeBounds(series, i));
    }
    if (series.has_calls) {
      const IntervalCalls& calls = series.Calls(i);
      const CallBounds limits = BoundsOfCalls(series, i);
      line.Value(calls.calls, limits.calls);
      line.Value(calls.wall_ns, limits.wall_ns);
      line.Value(
          series.has_kernel_records ? std::to_string(calls.on_cpu_ns) : "",
          limits.on_cpu_ns);
    }
    for (std::size_t event = 0; event < series.events.size(); ++event) {
      line.Value(series.TotalCount(i, event),
                 TotalCountBounds(series, i, event));
      if (series.has_selected) {
        line.Value(series.SelectedCount(i, event),
                   SelectedCountBounds(series, i, event));
      }
      line.Text(QualityName(series.QualityOf(i, event)));
    }
    out += line.Take();
  }
  return out;
}

Json PhaseJson(const TimeSeries& series, const std::vector<Feature>& features,
               const Phase& phase) {
  Json json;
  json["begin_ns"] = series.BeginOf(phase.begin);
  json["end_ns"] = series.EndOf(phase.end - 1);
  json["intervals"] = phase.end - phase.begin;
  json["shares"] = Json::object();
  json["per_s"] = Json::object();
  for (std::size_t f = 0; f < features.size(); ++f) {
    json[features[f].share ? "shares" : "per_s"][features[f].name] =
        phase.means[f];
  }
  Json& changed = json["changed"] = Json::array();
  for (const std::size_t f : phase.changed) {
    changed.push_back(features[f].name);
  }
  return json;
}

std::string PhasesCsv(const TimeSeries& series,
                      const std::vector<Feature>& features,
                      const std::vector<Phase>& phases) {
  std::string out = "begin_ns,end_ns,intervals";
  for (const Feature& feature : features) {
    out += "," + CsvName(feature.name + (feature.share ? "" : "_per_s"));
  }
  out += "\n";
  for (const Phase& phase : phases) {
    out +=
        absl::StrFormat("%d,%d,%d", series.BeginOf(phase.begin),
                        series.EndOf(phase.end - 1), phase.end - phase.begin);
    for (const double mean : phase.means) out += absl::StrFormat(",%.6g", mean);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string RenderOverTime(const TimeSeries& series,
                           const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return OverTimeText(series, options);
    case ReportFormat::kCsv:
      return OverTimeCsv(series, options.bounds);
    case ReportFormat::kJson: {
      Json json = DocumentOf(series, "countrace.over_time/1");
      Json& intervals = json["intervals"] = Json::array();
      for (std::size_t i = 0; i < series.size(); ++i) {
        intervals.push_back(IntervalJson(series, i));
      }
      return Dump(json, 1) + "\n";
    }
    case ReportFormat::kJsonLines:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < series.size(); ++i) {
    out += Dump(IntervalJson(series, i), -1) + "\n";
  }
  return out;
}

std::string RenderPhases(const TimeSeries& series,
                         const std::vector<Feature>& features,
                         const std::vector<Phase>& phases,
                         const RenderOptions& options) {
  switch (options.format) {
    case ReportFormat::kText:
      return PhasesText(series, features, phases, options);
    case ReportFormat::kCsv:
      return PhasesCsv(series, features, phases);
    case ReportFormat::kJson: {
      Json json = DocumentOf(series, "countrace.phases/1");
      Json& list = json["phases"] = Json::array();
      for (const Phase& phase : phases) {
        list.push_back(PhaseJson(series, features, phase));
      }
      return Dump(json, 1) + "\n";
    }
    case ReportFormat::kJsonLines:
      break;
  }
  std::string out;
  for (const Phase& phase : phases) {
    out += Dump(PhaseJson(series, features, phase), -1) + "\n";
  }
  return out;
}

}  // namespace countrace::rmap
