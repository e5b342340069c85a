#include "rmap/values/call_values.h"

#include <algorithm>
#include <string_view>

#include "rmap/levels/levels.h"

namespace countrace::rmap {

using logformat::EventRecord;

CallValues::CallValues(const logformat::TraceInfo& info,
                       const std::string& name, const Levels* levels) {
  if (levels != nullptr && name.starts_with(kLevelValue)) {
    levels_ = levels;
    level_ = levels->Named(name.substr(sizeof(kLevelValue) - 1));
  }
  if (!name.empty()) {
    named_.emplace(info, std::vector<std::string>{name});
    of_programs_ =
        std::ranges::any_of(info.hooks, [&](const logformat::HookInfo& hook) {
          return hook.origin == logformat::HookOrigin::kProgram &&
                 (named_->IsOf(hook.id) || levels_ != nullptr);
        });
    exits_.emplace(*named_, table_);
    if (std::ranges::none_of(info.hooks, [&](const logformat::HookInfo& hook) {
          return exits_->IsOf(hook.id);
        })) {
      exits_.reset();
    }
  }
  if (name.empty() || name == kFileValue) {
    files_.emplace(info, table_);
    if (!files_->any()) files_.reset();
  }
}

std::uint32_t CallValues::Enter(const EventRecord& record,
                                std::uint32_t hook_id, CallTask task) {
  if (files_ && files_->UseOf(hook_id) != FileUse::kNone) {
    return files_->Enter(record, hook_id, task);
  }
  if (!named_) return ValueTable::kNone;
  if (levels_ != nullptr) {
    const auto up = task.thread == nullptr
                        ? std::nullopt
                        : levels_->IsUp(level_, *task.thread);
    return up ? table_.Of(*up ? "1" : "0") : ValueTable::kNone;
  }
  if (exits_ && exits_->IsOf(hook_id)) {
    return exits_->OfEnter(record, hook_id, task.tid);
  }
  const auto text = logformat::TextOf(named_->Of(record));
  if (!text) return ValueTable::kNone;
  return *text == logformat::kUnreadable ? table_.Unread() : table_.Of(*text);
}

std::uint32_t CallValues::Exit(const EventRecord& record, std::uint32_t hook_id,
                               const Frame* frame, CallTask task,
                               std::uint64_t range_begin_ns) {
  if (frame == nullptr) {
    const bool known = exits_ && exits_->IsOf(hook_id);
    return known ? exits_->OfExit(record) : ValueTable::kNone;
  }
  const std::uint32_t value = frame->node->value;
  if (files_ && files_->UseOf(hook_id) != FileUse::kNone) {
    const std::uint64_t bytes = files_->Exit(record, hook_id, task, value);
    if (frame->begin_ns >= range_begin_ns && !frame->began_paused) {
      frame->node->moved_bytes += bytes;
    }
  } else if (named_ && table_.IsUnread(value)) {
    const logformat::FieldValue read = named_->Of(record);
    const auto* text = std::get_if<std::string_view>(&read);
    if (text != nullptr && !text->empty()) table_.SetText(value, *text);
  }
  return value;
}

}  // namespace countrace::rmap
