#include "logformat/import/kernel/counter_names.h"

#include <algorithm>

#include "logformat/perf_event_names.h"

namespace countrace::importer {

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
  if (event == "page-fault") return "page-faults";  // LTTng's word
  return std::string(logformat::PerfEventOfAlias(event));
}

bool IsSoftwareEvent(std::string_view event) {
  const auto& counted = logformat::kPerfCountedSoftwareEvents;
  return std::any_of(counted.begin(), counted.end(),
                     [event](const logformat::PerfEventName& known) {
                       return known.name == event;
                     });
}

}  // namespace countrace::importer
