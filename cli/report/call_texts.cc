#include "cli/report/call_texts.h"

#include <algorithm>
#include <cstring>
#include <variant>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "logformat/packet_layout.h"
#include "logformat/read/script_render.h"

namespace countrace::cli {
namespace {

// The thread that a hook's record is of.
std::optional<std::int32_t> TidOf(const logformat::EventRecord& record) {
  if (record.stream_class == logformat::StreamClass::kThread) {
    return record.tid;
  }
  logformat::KernelHookRecord hook;
  if (!logformat::IsKernelHookEvent(record.event_id) ||
      record.bytes.size() < sizeof(hook)) {
    return std::nullopt;
  }
  std::memcpy(&hook, record.bytes.data(), sizeof(hook));
  return static_cast<std::int32_t>(hook.ids & 0xffffffu);
}

}  // namespace

CallTexts::CallTexts(const logformat::TraceInfo& info,
                     const std::vector<rmap::SlowCall>& calls,
                     const Threads& threads)
    : values_(calls.size()) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto row = threads.find(static_cast<std::uint32_t>(calls[i].thread));
    const logformat::HookInfo* hook = info.FindHook(calls[i].hook_id);
    if (row == threads.end() || hook == nullptr || !AddHook(info, *hook)) {
      continue;
    }
    const std::int32_t tid = row->second->tid;
    wanted_[{calls[i].begin_ns, calls[i].hook_id, tid, false}] = i;
    wanted_[{calls[i].end_ns, calls[i].hook_id, tid, true}] = i;
  }
}

void CallTexts::OnRecord(const logformat::EventRecord& record) {
  const auto at = wanted_.lower_bound({record.time_ns, 0, 0, false});
  if (at == wanted_.end() || at->first.time_ns != record.time_ns) return;
  const auto tid = TidOf(record);
  if (!tid) return;
  const std::uint32_t hook_id = logformat::EventHookId(record.event_id);
  const bool exit = (record.event_id & logformat::kEventExitBit) != 0;
  const auto found = wanted_.find({record.time_ns, hook_id, *tid, exit});
  if (found == wanted_.end()) return;
  Values& values = values_[found->second];
  for (const auto& [name, reader] : hooks_.at(hook_id)) {
    auto text = logformat::TextOf(reader.Of(record));
    if (!text) continue;
    const std::string shown = reader.NameOf(record);
    if (!shown.empty()) text = shown;
    const bool known =
        values.contains(name) && values[name].text != logformat::kUnreadable;
    if (known || (exit && text->empty())) continue;
    values[name] = {
        *text, std::holds_alternative<std::string_view>(reader.Of(record))};
  }
}
std::string CallTexts::Of(const rmap::SlowCall& call, std::size_t index) const {
  const Values& values = values_[index];
  if (values.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, reader] : hooks_.at(call.hook_id)) {
    const auto value = values.find(name);
    if (value == values.end()) continue;
    std::string part = name + " = ";
    if (value->second.quoted) part += '"';
    logformat::AppendEscaped(value->second.text, true, part);
    if (value->second.quoted) part += '"';
    parts.push_back(std::move(part));
  }
  return "{ " + absl::StrJoin(parts, ", ") + " }";
}

bool CallTexts::AddHook(const logformat::TraceInfo& info,
                        const logformat::HookInfo& hook) {
  if (hook.payload.empty() && hook.exit_payload.empty()) return false;
  Readers& readers = hooks_[hook.id];
  if (!readers.empty()) return true;
  std::vector<std::string> names = hook.payload_names;
  for (std::size_t i = names.size(); i < hook.payload.size(); ++i) {
    names.push_back(absl::StrFormat("arg%d", i));
  }
  for (const std::string& name : hook.exit_payload_names) {
    if (std::ranges::find(names, name) != names.end()) continue;
    names.push_back(name);
  }
  if (hook.origin != logformat::HookOrigin::kProgram) {
    names.emplace_back("ret");
  }
  for (const std::string& name : names) {
    readers.emplace_back(
        name, logformat::NamedValue(info, std::vector<std::string>{name}));
  }
  return true;
}

}  // namespace countrace::cli
