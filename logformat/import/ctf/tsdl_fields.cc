#include "logformat/import/ctf/tsdl_fields.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "logformat/import/ctf/metadata_json.h"

namespace countrace::importer {
namespace {

// Aliases of aliases can have any number of fields in a few bytes.
constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kMostLevels = 64;

struct RootName {
  Root root;
  const char* origin;  // of a field location (5.3.2)
  const char* path;    // in TSDL (CTF 1.8.3, 7.3.2)
};
constexpr std::array kRoots = {
    RootName{Root::kPacketHeader, "packet-header", "trace.packet.header"},
    RootName{Root::kPacketContext, "packet-context", "stream.packet.context"},
    RootName{Root::kEventHeader, "event-record-header", "stream.event.header"},
    RootName{Root::kCommonContext, "event-record-common-context",
             "stream.event.context"},
    RootName{Root::kSpecificContext, "event-record-specific-context",
             "event.context"},
    RootName{Root::kPayload, "event-record-payload", "event.fields"},
};

// What has a name of its own in CTF 1.8 has a role in CTF 2 (5.6.1, 5.8.1).
constexpr std::array<std::pair<const char*, const char*>, 9> kRoles = {{
    {"packet-magic-number", "magic"},
    {"metadata-stream-uuid", "uuid"},
    {"data-stream-class-id", "stream_id"},
    {"data-stream-id", "stream_instance_id"},
    {"packet-total-length", "packet_size"},
    {"packet-content-length", "content_size"},
    {"discarded-event-record-counter-snapshot", "events_discarded"},
    {"packet-sequence-number", "packet_seq_num"},
    {"event-record-class-id", "id"},
}};
constexpr const char* kTimestamp = "default-clock-timestamp";
constexpr const char* kEndTimestamp = "packet-end-default-clock-timestamp";

// An option of a variant, and the mapping of its selector.
std::string OptionName(const Json& option, std::size_t number) {
  static const std::set<std::string> kKeywords = {
      "align",    "callsite",   "char",          "clock",     "const",
      "double",   "enum",       "env",           "event",     "float",
      "int",      "integer",    "long",          "short",     "signed",
      "stream",   "string",     "struct",        "trace",     "typedef",
      "void",     "unsigned",   "variant",       "typealias", "_Bool",
      "_Complex", "_Imaginary", "floating_point"};
  const std::string name = TextOf(option, "name");
  if (name.empty()) return "option" + std::to_string(number);
  std::string identifier = Identifier(name);
  return kKeywords.contains(identifier) ? "_" + identifier : identifier;
}

// Writes an integer range set (5.2): "label" = 1 ... 1, "label" = 3 ... 5.
void AddRanges(const Json* ranges, const std::string& label,
               std::vector<std::string>& all) {
  if (ranges == nullptr || !ranges->is_array()) return;
  for (const Json& range : *ranges) {
    if (!range.is_array() || range.size() != 2 ||
        !range[0].is_number_integer() || !range[1].is_number_integer()) {
      continue;
    }
    all.push_back(absl::StrFormat("%s = %s ... %s", Quoted(label),
                                  range[0].dump(), range[1].dump()));
  }
}

}  // namespace

std::string TsdlFields::Refuse(const std::string& what) {
  if (status_.ok()) {
    status_ = absl::UnimplementedError(
        absl::StrFormat("%s: %s", absl::StrJoin(field_, "."), what));
  }
  return "";
}

const Json* TsdlFields::Resolve(const Json* field_class) const {
  for (std::size_t i = 0;
       i < kMostLevels && field_class != nullptr && field_class->is_string();
       ++i) {
    const auto found =
        aliases_.find(field_class->get_ref<const std::string&>());
    field_class = found == aliases_.end() ? nullptr : &found->second;
  }
  return field_class != nullptr && field_class->is_object() ? field_class
                                                            : nullptr;
}

std::string TsdlFields::TypeOf(const Json* field_class, Root root,
                               std::string of) {
  root_ = root;
  field_ = {std::move(of)};
  levels_.clear();
  const Json* const structure = Resolve(field_class);
  if (structure == nullptr || TextOf(*structure, "type") != "structure") {
    return Refuse("it is no structure");
  }
  return Structure(*structure, kRoots[static_cast<std::size_t>(root)].path);
}

// babeltrace2 takes one underscore from the front of a name, as LTTng writes
// it (lttng-tools, src/bin/lttng-sessiond: tsdl-trace-class-visitor.cpp).
std::string TsdlFields::NameOf(const Json& member) const {
  const Json* const of = Resolve(PropertyOf(member, "field-class"));
  if (of != nullptr) {
    for (const auto& [role, name] : kRoles) {
      if (HasRole(*of, role)) return name;
    }
    if (HasRole(*of, kEndTimestamp)) return "timestamp_end";
    if (HasRole(*of, kTimestamp)) {
      return root_ == Root::kPacketContext ? "timestamp_begin" : "timestamp";
    }
  }
  return "_" + Identifier(TextOf(member, "name"));
}

const Json* TsdlFields::MemberOf(const Json& structure,
                                 std::string_view name) const {
  const Json* const members = PropertyOf(structure, "member-classes");
  if (members == nullptr || !members->is_array()) return nullptr;
  const auto found = std::find_if(
      members->begin(), members->end(),
      [&](const Json& member) { return TextOf(member, "name") == name; });
  return found == members->end() ? nullptr : &*found;
}

std::string TsdlFields::Structure(const Json& structure,
                                  const std::string& path) {
  static const Json kNone = Json::array();
  const Json* members = PropertyOf(structure, "member-classes");
  if (members == nullptr || !members->is_array()) members = &kNone;
  nodes_ += 1 + members->size();
  if (nodes_ > kMostNodes || levels_.size() > kMostLevels) {
    return Refuse("too many fields are inside one another");
  }
  levels_.push_back({&structure, path});
  // TSDL's variants are selected by the names of an enumeration.
  std::map<std::string, const Json*> options;
  for (const Json& member : *members) {
    const Json* const of = Resolve(PropertyOf(member, "field-class"));
    if (of == nullptr || TextOf(*of, "type") != "variant") continue;
    field_.push_back(TextOf(member, "name"));
    const Json*& selected = options[Selector(*of)];
    const Json* const own = PropertyOf(*of, "options");
    if (selected != nullptr && own != nullptr && *selected != *own) {
      Refuse("its selector is that of another variant, too");
    }
    selected = own;
    field_.pop_back();
  }
  std::string text = "struct { ";
  for (const Json& member : *members) {
    const std::string name = NameOf(member);
    field_.push_back(TextOf(member, "name"));
    const Json* const of = Resolve(PropertyOf(member, "field-class"));
    const std::string type = of == nullptr ? "" : TextOf(*of, "type");
    std::string suffix, written;
    if (const auto found = options.find(TextOf(member, "name"));
        found != options.end() && of != nullptr) {
      written = Integer(*of, found->second);
    } else if (type == "structure" && !path.empty()) {
      written = Structure(*of, path + "." + name);
    } else if (type == "variant") {
      const Json* const selector = MemberOf(structure, Selector(*of));
      written = selector == nullptr ? "" : Variant(*of, NameOf(*selector));
    } else {
      written = Type(of, suffix);
    }
    // As LTTng writes it.
    const std::uint64_t align = of == nullptr || type == "structure"
                                    ? 1
                                    : NumberOf(*of, "minimum-alignment", 1);
    if (align > 1) {
      absl::StrAppendFormat(&text, "struct { } align(%d) %s_padding; ", align,
                            name);
    }
    absl::StrAppend(&text, written, " ", name, suffix, "; ");
    field_.pop_back();
    if (!status_.ok()) break;
  }
  levels_.pop_back();
  const std::uint64_t align = NumberOf(structure, "minimum-alignment", 1);
  return text + (align > 1 ? absl::StrFormat("} align(%d)", align) : "}");
}

std::string TsdlFields::Type(const Json* field_class, std::string& suffix) {
  if (field_class == nullptr) return Refuse("its class is not known");
  const std::string type = TextOf(*field_class, "type");
  if (type == "structure") return Structure(*field_class, "");
  if (type == "null-terminated-string") {
    const std::string encoding = TextOf(*field_class, "encoding");
    return encoding.empty() || encoding == "utf-8"
               ? "string"
               : Refuse("its text is " + encoding);
  }
  if (type == "fixed-length-floating-point-number") {
    const std::uint64_t bits = NumberOf(*field_class, "length", 0);
    if (bits != 32 && bits != 64) {
      return Refuse(absl::StrFormat("a number of %d bits", bits));
    }
    return absl::StrFormat(
        "floating_point { exp_dig = %d; mant_dig = %d; align = %d; byte_order "
        "= %s; }",
        bits == 32 ? 8 : 11, bits == 32 ? 24 : 53,
        NumberOf(*field_class, "alignment", 1),
        TextOf(*field_class, "byte-order") == "big-endian" ? "be" : "le");
  }
  if (type.starts_with("fixed-length-")) return Integer(*field_class, nullptr);
  if (type.starts_with("static-length-") ||
      type.starts_with("dynamic-length-")) {
    return Element(*field_class, suffix);
  }
  if (type == "variant") {
    return Refuse("a variant without its selector beside it");
  }
  return Refuse("a field of type " + Quoted(type));
}

std::string TsdlFields::Integer(const Json& integer, const Json* options) {
  const std::string type = TextOf(integer, "type");
  const std::uint64_t bits = NumberOf(integer, "length", 0);
  const bool is_big = TextOf(integer, "byte-order") == "big-endian";
  if (!type.starts_with("fixed-length-") ||
      type.find("floating") != std::string::npos) {
    return Refuse("its selector is no integer of fixed length");
  }
  if (bits == 0 || bits > 64) {
    return Refuse(absl::StrFormat("a number of %d bits", bits));
  }
  const std::string bit_order = TextOf(integer, "bit-order");
  if (!bit_order.empty() &&
      bit_order != (is_big ? "last-to-first" : "first-to-last")) {
    return Refuse("its bits are " + bit_order);
  }
  const bool is_timestamp =
      HasRole(integer, kTimestamp) || HasRole(integer, kEndTimestamp);
  const bool is_bits =
      type == "fixed-length-bit-array" || type == "fixed-length-bit-map";
  std::string text = absl::StrFormat(
      "integer { size = %d; align = %d; signed = %d; base = %d; byte_order = "
      "%s; %s}",
      bits, NumberOf(integer, "alignment", 1),
      type.starts_with("fixed-length-signed") ? 1 : 0,
      NumberOf(integer, "preferred-display-base", is_bits ? 16 : 10),
      is_big ? "be" : "le",
      is_timestamp && !clock_.empty() ? "map = clock." + clock_ + ".value; "
                                      : "");
  std::vector<std::string> labels;
  if (options != nullptr && options->is_array()) {
    for (std::size_t i = 0; i < options->size(); ++i) {
      AddRanges(PropertyOf((*options)[i], "selector-field-ranges"),
                OptionName((*options)[i], i), labels);
    }
  } else if (const Json* const mappings = PropertyOf(integer, "mappings");
             mappings != nullptr && mappings->is_object() && !is_bits) {
    for (const auto& [label, ranges] : mappings->items()) {
      AddRanges(&ranges, label, labels);
    }
  }
  return labels.empty() ? text
                        : absl::StrFormat("enum : %s { %s }", text,
                                          absl::StrJoin(labels, ", "));
}

std::string TsdlFields::Variant(const Json& variant,
                                const std::string& selector) {
  const Json* const options = PropertyOf(variant, "options");
  if (options == nullptr || !options->is_array()) {
    return Refuse("a variant without options");
  }
  std::string text = "variant <" + selector + "> { ";
  for (std::size_t i = 0; i < options->size() && status_.ok(); ++i) {
    std::string suffix;
    const std::string type =
        Type(Resolve(PropertyOf((*options)[i], "field-class")), suffix);
    absl::StrAppend(&text, type, " ", OptionName((*options)[i], i), suffix,
                    "; ");
  }
  return text + "}";
}

std::string TsdlFields::Element(const Json& array, std::string& suffix) {
  const std::string type = TextOf(array, "type");
  const std::string length = Length(array);
  if (type.ends_with("-array")) {
    const Json* const element =
        Resolve(PropertyOf(array, "element-field-class"));
    if (element != nullptr && NumberOf(*element, "minimum-alignment", 1) > 1 &&
        TextOf(*element, "type") != "structure") {
      return Refuse("an array of arrays with an alignment of their own");
    }
    std::string inner;
    std::string text = Type(element, inner);
    suffix = "[" + length + "]" + inner;
    return text;
  }
  suffix = "[" + length + "]";
  if (type.ends_with("-blob")) {
    return "integer { size = 8; align = 8; signed = 0; base = 16; }";
  }
  const std::string encoding = TextOf(array, "encoding");
  if (!type.ends_with("-string")) {
    return Refuse("a field of type " + Quoted(type));
  }
  if (!encoding.empty() && encoding != "utf-8") {
    return Refuse("its text is " + encoding);
  }
  return "integer { size = 8; align = 8; signed = 0; encoding = UTF8; }";
}

std::string TsdlFields::Length(const Json& field_class) {
  if (TextOf(field_class, "type").starts_with("dynamic-")) {
    return Location(field_class, "length-field-location");
  }
  return std::to_string(NumberOf(field_class, "length", 0));
}

// 5.3.2: an object of `origin` and `path`; a list that begins with the origin
// in drafts.
std::string TsdlFields::Location(const Json& field_class,
                                 const char* property) {
  const Json* const location = PropertyOf(field_class, property);
  if (location == nullptr) return Refuse("its length or selector is missing");
  const Json* path =
      location->is_array() ? location : PropertyOf(*location, "path");
  if (path == nullptr || !path->is_array() || path->empty()) {
    return Refuse("its length or selector is missing");
  }
  std::string origin = TextOf(*location, "origin");
  std::size_t at = 0;
  if (location->is_array() && path->front().is_string()) {
    origin = path->front().get<std::string>();
    at = 1;
  }
  std::string absolute;
  std::size_t level = levels_.size();
  if (origin.empty()) {
    for (; at < path->size() && (*path)[at].is_null(); ++at) --level;
    if (level == 0 || level > levels_.size()) {
      return Refuse("its length or selector is outside its structure");
    }
  } else {
    const auto root =
        std::find_if(kRoots.begin(), kRoots.end(),
                     [&](const RootName& one) { return origin == one.origin; });
    if (root == kRoots.end()) {
      return Refuse("its length or selector is in " + Quoted(origin));
    }
    absolute = root->path;
    level = root->root == root_ ? 1 : 0;
  }
  const Json* structure = level == 0 ? nullptr : levels_[level - 1].structure;
  if (level != 0) absolute = levels_[level - 1].path;
  const bool is_beside = level == levels_.size() && at + 1 == path->size();
  for (; at < path->size(); ++at) {
    const Json& part = (*path)[at];
    if (!part.is_string()) {
      return Refuse("its length or selector is outside its structure");
    }
    const auto& name = part.get_ref<const std::string&>();
    const Json* const member =
        structure == nullptr ? nullptr : MemberOf(*structure, name);
    if (structure != nullptr && member == nullptr) {
      return Refuse("there is no " + Quoted(name) + " before it");
    }
    const std::string written =
        member == nullptr ? "_" + Identifier(name) : NameOf(*member);
    if (is_beside) return written;
    absolute += "." + written;
    structure = member == nullptr ? nullptr
                                  : Resolve(PropertyOf(*member, "field-class"));
  }
  return absolute.starts_with(".")
             ? Refuse("its length or selector is outside its structure")
             : absolute;
}

std::string TsdlFields::Selector(const Json& variant) {
  const std::string written = Location(variant, "selector-field-location");
  const Json* const members =
      PropertyOf(*levels_.back().structure, "member-classes");
  for (const Json& member : *members) {
    if (NameOf(member) == written) return TextOf(member, "name");
  }
  return Refuse("a variant without its selector beside it");
}

}  // namespace countrace::importer
