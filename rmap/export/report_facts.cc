#include "rmap/export/report_facts.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "rmap/columns/column_cells.h"
#include "rmap/columns/report_tables.h"
#include "rmap/export/table_schema.h"

namespace countrace::rmap {
namespace {

constexpr char kCause[] = "loss.by_cause.";

std::string TextOf(const Cell& cell) {
  const auto* number = std::get_if<std::uint64_t>(&cell);
  return number != nullptr ? std::to_string(*number)
                           : std::get<std::string>(cell);
}

// A list of texts, or null.
std::vector<std::string>* ListNamed(const std::string& key, Report& report) {
  return key == "not_known"      ? &report.not_known
         : key == "mark"         ? &report.marks
         : key == "loss.message" ? &report.loss.messages
                                 : nullptr;
}

}  // namespace

const std::vector<Column<Report>>& ReportFacts() {
  static const auto& facts = *[] {
    constexpr Unit kText = Unit::kNone, kNumber = Unit::kCount;
    auto* const made = new std::vector<Column<Report>>;
    const auto add = [&](const char* name, Unit unit,
                         const CellAccess<Report>& value) {
      made->push_back({{name}, "", unit, "", value});
    };
    add("path", kText, Field(&Report::path));
    add("scope", kText, Field(&Report::scope));
    add("count", kText, Field(&Report::count));
    add("command", kText, Field(&Report::command));
    add("hostname", kText, Field(&Report::hostname));
    add("kernel_release", kText, Field(&Report::kernel_release));
    add("source", kText, Field(&Report::source));
    add("begin_ns", kNumber, Field(&Report::begin_ns));
    add("end_ns", kNumber, Field(&Report::end_ns));
    add("left_out_ns", kNumber, Field(&Report::left_out_ns));
    add("pauses", kNumber, Field(&Report::pauses));
    add("of_range", kNumber, Field(&Report::of_range));
    add("cpus", kNumber, Field(&Report::cpus));
    add("records", kNumber, Field(&Report::records));
    add("finished", kNumber, Field(&Report::finished));
    add("has_owners", kNumber, Field(&Report::owners));
    add("has_wakeups", kNumber, Field(&Report::wakeups));
    add("has_throttled", kNumber, Field(&Report::throttled));
    add("has_system_calls", kNumber, Field(&Report::system_calls));
    add("has_block_points", kNumber, Field(&Report::block_points));
    add("has_interrupts", kNumber, Field(&Report::interrupts));
    add("has_file_values", kNumber, Field(&Report::file_values));
    add("has_fault_records", kNumber, Field(&Report::fault_records));
    add("has_levels", kNumber, Field(&Report::has_levels));
    add("hidden_switches", kNumber, Field(&Report::hidden_switches));
    add("late_sub_buffers", kNumber, Field(&Report::late_sub_buffers));
    add("own_cost.bpf_ns", kNumber, Field(&Report::own_cost, &OwnCost::bpf_ns));
    add("own_cost.bpf_sampled_ns", kNumber,
        Field(&Report::own_cost, &OwnCost::bpf_sampled_ns));
    add("own_cost.hook_cpu_ps", kNumber,
        Field(&Report::own_cost, &OwnCost::hook_cpu_ps));
    add("own_cost.hook_ps", kNumber,
        Field(&Report::own_cost, &OwnCost::hook_ps));
    add("own_cost.hook_dump_ps", kNumber,
        Field(&Report::own_cost, &OwnCost::hook_dump_ps));
    add("own_cost.hook_records", kNumber,
        Field(&Report::own_cost, &OwnCost::hook_records));
    add("own_cost.hook_dumps", kNumber,
        Field(&Report::own_cost, &OwnCost::hook_dumps));
    add("loss.discarded_events", kNumber,
        Field(&Report::loss, &Loss::discarded_events));
    add("loss.overwritten", kNumber, Field(&Report::loss, &Loss::overwritten));
    add("loss.discarded_packets", kNumber,
        Field(&Report::loss, &Loss::discarded_packets));
    add("loss.clock_errors", kNumber,
        Field(&Report::loss, &Loss::clock_errors));
    add("loss.not_joined", kNumber, Field(&Report::loss, &Loss::not_joined));
    add("loss.lost_samples", kNumber,
        Field(&Report::loss, &Loss::lost_samples));
    add("loss.unavailable", kNumber, Field(&Report::loss, &Loss::unavailable));
    add("loss.went_on", kNumber, Field(&Report::loss, &Loss::went_on));
    add("loss.left_out_ms", kNumber, Field(&Report::loss, &Loss::left_out_ms));
    add("loss.cut_texts", kNumber, Field(&Report::loss, &Loss::cut_texts));
    add("loss.damaged", kNumber, Field(&Report::loss, &Loss::damaged));
    add("loss.unfinished", kNumber, Field(&Report::loss, &Loss::unfinished));
    return made;
  }();
  return facts;
}

void ForEachFact(
    const Report& report,
    const std::function<void(const std::string&, const std::string&)>& add) {
  add("schema", kTablesSchema);
  for (const Column<Report>& fact : ReportFacts()) {
    add(FullName(fact), TextOf(fact.value(report)));
  }
  for (const auto& [name, id] : report.host_ids) add(name, id);
  for (const auto& text : report.not_known) add("not_known", text);
  for (const auto& text : report.marks) add("mark", text);
  for (const auto& trigger : report.triggers) {
    add("trigger", trigger.trigger);
    add("trigger.what", trigger.what);
    add("trigger.time_ns", std::to_string(trigger.time_ns));
  }
  for (const auto& [name, of] : report.value_names) add("hook_value", name);
  add("loss", logformat::StateLoss(report.loss).text);
  for (const auto& [cause, records] : report.loss.by_cause) {
    add(kCause + cause, std::to_string(records));
  }
  for (const auto& text : report.loss.messages) add("loss.message", text);
}

bool SetFact(const std::string& key, const std::string& value, Report& report) {
  for (const Column<Report>& fact : ReportFacts()) {
    if (FullName(fact) != key) continue;
    const bool is_text = fact.unit == Unit::kNone;
    return fact.value.Set(report, is_text ? Cell(value) : IntegerCell(value));
  }
  if (auto* const list = ListNamed(key, report)) {
    list->push_back(value);
  } else if (key == "trigger") {
    report.triggers.emplace_back().trigger = value;
  } else if (key == "trigger.what" && !report.triggers.empty()) {
    report.triggers.back().what = value;
  } else if (key == "trigger.time_ns" && !report.triggers.empty()) {
    return SetCell(IntegerCell(value), report.triggers.back().time_ns);
  } else if (key == "hook_value") {
    report.value_names[value];
  } else if (key.starts_with(kCause)) {
    return SetCell(IntegerCell(value),
                   report.loss.by_cause[key.substr(sizeof(kCause) - 1)]);
  }
  return true;
}

}  // namespace countrace::rmap
