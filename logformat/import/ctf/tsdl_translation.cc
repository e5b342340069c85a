#include "logformat/import/ctf/tsdl_translation.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "logformat/import/ctf/tsdl_fields.h"

namespace countrace::importer {
namespace {

// 16 numbers (preamble), or text in its usual form.
std::string UuidOf(const Json& object) {
  if (const std::string uid = TextOf(object, "uid"); uid.size() == 36) {
    return uid;
  }
  const Json* const uuid = PropertyOf(object, "uuid");
  if (uuid == nullptr || !uuid->is_array() || uuid->size() != 16) return "";
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) {
    if (!(*uuid)[i].is_number_unsigned()) return "";
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    absl::StrAppendFormat(&text, "%02x", (*uuid)[i].get<std::uint64_t>() & 255);
  }
  return text;
}

// The fragments of a metadata stream (5.5 to 5.9), by type.
class Translation {
 public:
  absl::Status Read(std::string_view metadata) {
    is_big_endian_ = metadata.find("little-endian") == metadata.npos &&
                     metadata.find("big-endian") != metadata.npos;
    while (!metadata.empty()) {
      metadata.remove_prefix(1);
      const std::size_t end = std::min(metadata.find('\x1e'), metadata.size());
      Json fragment = Json::parse(metadata.substr(0, end), nullptr, false);
      metadata.remove_prefix(end);
      const std::string type = TextOf(fragment, "type");
      if (type.empty()) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "fragment %d of its metadata is no JSON object with a type",
            fragments_));
      }
      ++fragments_;
      if (type == "field-class-alias") {
        const Json* const of = PropertyOf(fragment, "field-class");
        if (of != nullptr) fields_.AddAlias(TextOf(fragment, "name"), *of);
      } else {
        by_type_[type].push_back(std::move(fragment));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Write() {
    if (absl::Status preamble = CheckPreamble(); !preamble.ok()) {
      return preamble;
    }
    std::string text = "/* CTF 1.8 */\n" + TraceText() + ClockTexts();
    for (const Json& stream : by_type_["data-stream-class"]) {
      text += StreamText(stream);
    }
    for (const Json& event : by_type_["event-record-class"]) {
      text += EventText(event);
    }
    if (!fields_.status().ok()) return fields_.status();
    return text;
  }

 private:
  absl::Status CheckPreamble() {
    const auto& preambles = by_type_["preamble"];
    const std::uint64_t version =
        preambles.empty() ? 0 : NumberOf(preambles.front(), "version", 0);
    if (version != 2) {
      return absl::UnimplementedError(
          absl::StrFormat("its metadata has version %d, not 2", version));
    }
    const Json* const extensions = PropertyOf(preambles.front(), "extensions");
    if (extensions != nullptr && !extensions->empty()) {
      return absl::UnimplementedError("it has extensions: " +
                                      extensions->dump().substr(0, 200));
    }
    uuid_ = UuidOf(preambles.front());
    return absl::OkStatus();
  }

  // A field of a root structure, empty without the structure.
  std::string Field(const Json& of, const char* property, const char* name,
                    Root root, const std::string& called) {
    const Json* const structure = PropertyOf(of, property);
    if (structure == nullptr) return "";
    return absl::StrFormat("%s := %s; ", name,
                           fields_.TypeOf(structure, root, called));
  }

  bool HasMemberWithRole(const Json& of, const char* property,
                         std::string_view role) const {
    const Json* const structure = fields_.Resolve(PropertyOf(of, property));
    const Json* const members = structure == nullptr
                                    ? nullptr
                                    : PropertyOf(*structure, "member-classes");
    if (members == nullptr || !members->is_array()) return false;
    for (const Json& member : *members) {
      const Json* const one =
          fields_.Resolve(PropertyOf(member, "field-class"));
      if (one != nullptr && HasRole(*one, role)) return true;
    }
    return false;
  }

  std::string TraceText() {
    const Json none = Json::object();
    const auto& traces = by_type_["trace-class"];
    const Json& trace = traces.empty() ? none : traces.front();
    streams_have_ids_ = HasMemberWithRole(trace, "packet-header-field-class",
                                          "data-stream-class-id");
    std::string text = absl::StrFormat(
        "trace { major = 1; minor = 8; byte_order = %s; %s%s};\n",
        is_big_endian_ ? "be" : "le",
        uuid_.empty() ? "" : "uuid = " + Quoted(uuid_) + "; ",
        Field(trace, "packet-header-field-class", "packet.header",
              Root::kPacketHeader, "packet header"));
    const Json* const environment = PropertyOf(trace, "environment");
    if (environment == nullptr || !environment->is_object()) return text;
    text += "env { ";
    for (const auto& [name, value] : environment->items()) {
      if (Identifier(name) != name) continue;
      if (value.is_number_integer()) {
        absl::StrAppendFormat(&text, "%s = %s; ", name, value.dump());
      } else if (value.is_string()) {
        absl::StrAppendFormat(&text, "%s = %s; ", name,
                              Quoted(value.get_ref<const std::string&>()));
      }
    }
    return text + "};\n";
  }

  std::string ClockTexts() {
    std::string text;
    for (const Json& clock : by_type_["clock-class"]) {
      const std::string name = TextOf(clock, "name"), id = TextOf(clock, "id");
      const std::string called = Identifier(name.empty() ? id : name);
      clocks_[id.empty() ? name : id] = called;
      const std::string uuid = UuidOf(clock);
      absl::StrAppendFormat(&text,
                            "clock { name = %s; description = %s; freq = %d; ",
                            called, Quoted(TextOf(clock, "description")),
                            NumberOf(clock, "frequency", 1'000'000'000));
      if (!uuid.empty()) text += "uuid = " + Quoted(uuid) + "; ";
      if (const Json* const offset = PropertyOf(clock, "offset-from-origin")) {
        const Json* const seconds = PropertyOf(*offset, "seconds");
        absl::StrAppendFormat(&text, "offset_s = %s; offset = %d; ",
                              seconds != nullptr && seconds->is_number_integer()
                                  ? seconds->dump()
                                  : "0",
                              NumberOf(*offset, "cycles", 0));
      }
      absl::StrAppendFormat(
          &text, "absolute = %s; };\n",
          TextOf(clock, "origin") == "unix-epoch" ? "TRUE" : "FALSE");
    }
    return text;
  }

  std::string StreamText(const Json& stream) {
    std::string clock = TextOf(stream, "default-clock-class-id");
    if (clock.empty()) clock = TextOf(stream, "default-clock-class-name");
    const auto found = clocks_.find(clock);
    fields_.SetClock(found == clocks_.end() ? "" : found->second);
    const std::uint64_t id = NumberOf(stream, "id", 0);
    events_have_ids_[id] = HasMemberWithRole(
        stream, "event-record-header-field-class", "event-record-class-id");
    const std::string called = absl::StrFormat("stream %d", id);
    std::string text = "stream { ";
    if (streams_have_ids_) absl::StrAppendFormat(&text, "id = %d; ", id);
    text += Field(stream, "packet-context-field-class", "packet.context",
                  Root::kPacketContext, called + ": packet context");
    text += Field(stream, "event-record-header-field-class", "event.header",
                  Root::kEventHeader, called + ": event header");
    text += Field(stream, "event-record-common-context-field-class",
                  "event.context", Root::kCommonContext, called + ": context");
    fields_.SetClock("");
    return text + "};\n";
  }

  std::string EventText(const Json& event) {
    const std::string name = TextOf(event, "name");
    const std::uint64_t stream = NumberOf(event, "data-stream-class-id", 0);
    const std::uint64_t id = NumberOf(event, "id", 0);
    std::string text = "event { name = " + Quoted(name) + "; ";
    if (events_have_ids_[stream]) absl::StrAppendFormat(&text, "id = %d; ", id);
    if (streams_have_ids_) {
      absl::StrAppendFormat(&text, "stream_id = %d; ", stream);
    }
    const std::string called =
        name.empty() ? absl::StrFormat("event %d", id) : "event " + name;
    text += Field(event, "specific-context-field-class", "context",
                  Root::kSpecificContext, called + ": context");
    text +=
        Field(event, "payload-field-class", "fields", Root::kPayload, called);
    return text + "};\n";
  }

  std::map<std::string, std::vector<Json>> by_type_;
  TsdlFields fields_;
  int fragments_ = 0;
  std::string uuid_;
  bool is_big_endian_ = false, streams_have_ids_ = false;
  std::map<std::string, std::string> clocks_;      // names in TSDL, by id
  std::map<std::uint64_t, bool> events_have_ids_;  // by stream
};

}  // namespace

absl::StatusOr<std::string> TranslateToTsdl(std::string_view metadata) {
  Translation translation;
  if (absl::Status read = translation.Read(metadata); !read.ok()) return read;
  return translation.Write();
}

}  // namespace countrace::importer
