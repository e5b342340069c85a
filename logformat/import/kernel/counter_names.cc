#include "logformat/import/kernel/counter_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace countrace::importer {

namespace {

// One word for one thing, where perf has several.
constexpr std::pair<std::string_view, std::string_view> kSynonyms[] = {
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
    {"page-fault", "page-faults"},
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
    {"idle-cycles-frontend", "stalled-cycles-frontend"},
    {"idle-cycles-backend", "stalled-cycles-backend"},
};

constexpr std::string_view kSoftware[] = {
    "cpu-clock",      "task-clock",       "page-faults",
    "major-faults",   "minor-faults",     "context-switches",
    "cpu-migrations", "alignment-faults", "emulation-faults"};

}  // namespace

std::vector<std::string> CounterContexts(const bt_field_class* context,
                                         std::string_view prefix) {
  std::vector<std::string> fields;
  if (context == nullptr) return fields;
  const std::uint64_t members =
      bt_field_class_structure_get_member_count(context);
  for (std::uint64_t i = 0; i < members; ++i) {
    const auto* member =
        bt_field_class_structure_borrow_member_by_index_const(context, i);
    const std::string_view name =
        bt_field_class_structure_member_get_name(member);
    const bt_field_class_type type = bt_field_class_get_type(
        bt_field_class_structure_member_borrow_field_class_const(member));
    if (name.starts_with(prefix) &&
        bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER) != 0) {
      fields.emplace_back(name);
    }
  }
  return fields;
}

std::string EventOfContext(std::string_view field) {
  for (const std::string_view prefix :
       {kCpuCounterPrefix, kThreadCounterPrefix}) {
    if (field.starts_with(prefix)) field.remove_prefix(prefix.size());
  }
  std::string event(field);
  std::replace(event.begin(), event.end(), '_', '-');
  for (const auto& [from, to] : kSynonyms) {
    if (event == from) return std::string(to);
  }
  return event;
}

bool IsSoftwareEvent(std::string_view event) {
  return std::find(std::begin(kSoftware), std::end(kSoftware), event) !=
         std::end(kSoftware);
}

}  // namespace countrace::importer
