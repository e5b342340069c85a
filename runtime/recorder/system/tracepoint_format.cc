#include "runtime/recorder/system/tracepoint_format.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/text/trim.h"
#include "logformat/packet_layout.h"

namespace countrace::runtime {
namespace {

// The number after `key` ("offset:") in a field line.
std::optional<std::uint32_t> NumberAfter(std::string_view line,
                                         std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + key.size());
  std::uint32_t value = 0;
  const auto parsed =
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (parsed.ec != std::errc()) return std::nullopt;
  return value;
}

// "field:char prev_comm[16];" -> "prev_comm", "char[16]".
void ReadDeclaration(std::string_view line, TracepointField& field) {
  constexpr std::string_view kKey = "field:";
  std::string_view declaration = line.substr(line.find(kKey) + kKey.size());
  declaration = declaration.substr(0, declaration.find(';'));
  std::string_view array;
  // "__data_loc char[] name" has the brackets at the type.
  if (declaration.ends_with(']')) {
    array = declaration.substr(declaration.find('['));
    declaration = declaration.substr(0, declaration.find('['));
  }
  declaration = base::Trim(declaration);
  const std::size_t space = declaration.find_last_of(" *");
  const std::size_t begin = space == std::string_view::npos ? 0 : space + 1;
  field.name = declaration.substr(begin);
  field.type = base::Trim(declaration.substr(0, begin));
  field.type += array;
}

}  // namespace

absl::StatusOr<std::vector<TracepointField>> ParseTracepointFormat(
    std::string_view text) {
  std::vector<TracepointField> fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find("field:") == std::string_view::npos) continue;
    const std::optional<std::uint32_t> offset = NumberAfter(line, "offset:");
    const std::optional<std::uint32_t> size = NumberAfter(line, "size:");
    if (!offset || !size) continue;
    TracepointField& field = fields.emplace_back();
    field.offset = *offset;
    field.size = *size;
    field.is_signed = NumberAfter(line, "signed:") == 1u;
    ReadDeclaration(line, field);
  }
  if (fields.empty()) {
    return absl::InvalidArgumentError(
        "Cannot parse tracepoint format: no line \"field:...; offset:...; "
        "size:...;\"");
  }
  return fields;
}

absl::StatusOr<SwitchFormat> ParseSwitchFormat(std::string_view text) {
  const absl::StatusOr<std::vector<TracepointField>> fields =
      ParseTracepointFormat(text);
  if (!fields.ok()) return fields.status();
  const auto find = [&fields](std::string_view name) -> const TracepointField* {
    const auto it = std::find_if(
        fields->begin(), fields->end(),
        [name](const TracepointField& field) { return field.name == name; });
    return it == fields->end() ? nullptr : &*it;
  };
  const TracepointField* prev = find("prev_pid");
  const TracepointField* state = find("prev_state");
  const TracepointField* next = find("next_pid");
  if (prev == nullptr || state == nullptr || next == nullptr ||
      prev->size != 4 || next->size != 4 ||
      (state->size != 4 && state->size != 8)) {
    return absl::UnimplementedError(
        "Unknown layout of sched:sched_switch: expected prev_pid and next_pid "
        "of 4 bytes and prev_state of 4 or 8 bytes");
  }
  return SwitchFormat{.prev_tid_offset = prev->offset,
                      .prev_state_offset = state->offset,
                      .prev_state_size = state->size,
                      .next_tid_offset = next->offset,
                      .raw_bytes = std::max({prev->offset + prev->size,
                                             state->offset + state->size,
                                             next->offset + next->size})};
}

std::uint16_t MapSwitchState(std::uint64_t prev_state) {
  // Linux since 4.14 (include/trace/events/sched.h): bits S 1, D 2, T 4, t 8, X
  // 0x10, Z 0x20, P 0x40, I 0x80; 0x100 and above mean "preempted". 0x300 comes
  // from our BPF program only.
  if (prev_state == logformat::kSwitchThrottled) {
    return logformat::kSwitchThrottled;
  }
  if (prev_state >= 0x100) return logformat::kSwitchPreempted;
  if (prev_state == 0) return logformat::kSwitchRunnable;
  if ((prev_state & 0x30) != 0) return logformat::kSwitchDead;
  if ((prev_state & 0xc0) != 0) return logformat::kSwitchOther;
  return static_cast<std::uint16_t>(prev_state & 0x0f);
}

}  // namespace countrace::runtime
