#include "cli/report/sample_rows.h"

#include <utility>

namespace countrace::cli {
namespace {

template <typename Value>
void Append(std::vector<Value>& to, const std::vector<Value>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

SampleRowList::SampleRowList(const rmap::Samples& samples,
                             const SampleGroups& groups,
                             SampleContexts contexts,
                             const SampleParts<std::string>& columns)
    : samples_(samples), groups_(groups), contexts_(contexts) {
  Join<std::string>("event", groups.columns, "in", columns, rows_.text_columns,
                    rows_.machine_columns);
}

void SampleRowList::Add(std::uint32_t event, std::uint32_t group,
                        const std::string& in, const SampleParts<Cell>& cells) {
  std::vector<Cell> text, machine;
  Join<Cell>(
      samples_.events[event].name,
      groups_.columns.empty() ? std::vector<Cell>() : groups_.names[group], in,
      cells, text, machine);
  rows_.text.push_back(std::move(text));
  rows_.machine.push_back(std::move(machine));
}

template <typename Value>
void SampleRowList::Join(const Value& event, const std::vector<Value>& group,
                         const Value& in, const SampleParts<Value>& own,
                         std::vector<Value>& text,
                         std::vector<Value>& machine) const {
  if (samples_.events.size() > 1) text.push_back(event);
  Append(text, own.text_amounts);
  Append(text, group);
  if (contexts_ == SampleContexts::kForAll) text.push_back(in);
  Append(text, own.text_place);
  machine.push_back(event);
  Append(machine, group);
  if (contexts_ != SampleContexts::kNone) machine.push_back(in);
  Append(machine, own.machine_place);
  Append(machine, own.machine_amounts);
}

}  // namespace countrace::cli
