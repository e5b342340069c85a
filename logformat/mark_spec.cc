#include "logformat/mark_spec.h"

#include <charconv>

#include "absl/strings/str_format.h"

namespace countrace::logformat {
namespace {

absl::Status NotAMark(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "Mark \"%s\": %s; a mark is a process id, `self`, comm:GLOB or a bare "
      "glob on the command's name, user:NAME, cgroup:/PATH or cgroup:ID, the "
      "begin of a cgroup's name",
      text, why));
}

absl::StatusOr<MarkSpec> ParseComm(std::string_view whole,
                                   std::string_view glob) {
  MarkSpec mark;
  mark.kind = MarkKind::kComm;
  mark.text = glob;
  if (glob.empty()) return NotAMark(whole, "the name is empty");
  std::uint32_t element = 0;
  for (const char c : glob) {
    if (c == '*') {
      mark.glob.stays |= 1u << element;
      continue;
    }
    if (element == COUNTRACE_COMM_GLOB_ELEMENTS) {
      return NotAMark(whole,
                      absl::StrFormat("longer than any command's name: at most "
                                      "%d bytes",
                                      COUNTRACE_COMM_BYTES - 1));
    }
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      if (c == '?' || byte == static_cast<unsigned char>(c)) {
        mark.glob.accepts[byte] |= 1u << element;
      }
    }
    ++element;
  }
  if (element >= COUNTRACE_COMM_BYTES) {
    return NotAMark(whole,
                    absl::StrFormat("the kernel keeps %d bytes of a command's "
                                    "name, and these are %d: end it with *",
                                    COUNTRACE_COMM_BYTES - 1, element));
  }
  mark.glob.end = element;
  return mark;
}

}  // namespace

absl::StatusOr<MarkSpec> ParseMark(std::string_view text) {
  if (text.size() >= kMarkTextBytes) {
    return NotAMark(text, absl::StrFormat("bytes=%d, at most %d", text.size(),
                                          kMarkTextBytes - 1));
  }
  for (const char c : text) {
    // The text becomes a line of the trace's metadata.
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      return NotAMark("?", "a control character");
    }
  }
  if (text.empty()) return NotAMark(text, "it is empty");
  MarkSpec mark;
  if (text == "self") {
    mark.kind = MarkKind::kSelf;
    return mark;
  }
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    mark.kind = MarkKind::kPid;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, mark.pid);
    if (parsed.ec != std::errc() || mark.pid <= 0) {
      return NotAMark(text, "no process can have this id");
    }
    return mark;
  }
  if (text.starts_with("pid:")) {
    return NotAMark(text,
                    "a process's id has no prefix; comm:pid:... is a name");
  }
  const auto rest_of = [text](std::string_view prefix) {
    return text.substr(prefix.size());
  };
  if (text.starts_with("comm:")) return ParseComm(text, rest_of("comm:"));
  if (text.starts_with("user:")) {
    mark.kind = MarkKind::kUser;
    mark.text = rest_of("user:");
    if (mark.text.empty()) return NotAMark(text, "the user's name is empty");
    return mark;
  }
  if (text.starts_with("cgroup:")) {
    mark.kind = MarkKind::kCgroup;
    mark.text = rest_of("cgroup:");
    if (mark.text.empty()) {
      return NotAMark(text,
                      "the path of the cgroup, or the begin of its name, "
                      "is empty");
    }
    if (mark.text.front() != '/') {
      if (mark.text.find('/') != std::string::npos) {
        return NotAMark(text,
                        "the path of a cgroup begins with /; the name of "
                        "one has none");
      }
      return mark;
    }
    if (mark.text.find("..") != std::string::npos) {
      return NotAMark(text, "the path of a cgroup has no ..");
    }
    while (mark.text.size() > 1 && mark.text.back() == '/') {
      mark.text.pop_back();
    }
    return mark;
  }
  return ParseComm(text, text);
}

absl::StatusOr<std::vector<MarkSpec>> ParseMarks(
    const std::vector<std::string>& texts) {
  std::vector<MarkSpec> marks;
  for (const std::string& list : texts) {
    std::string_view rest = list;
    for (bool more = true; more;) {
      const std::size_t comma = rest.find(',');
      absl::StatusOr<MarkSpec> mark = ParseMark(rest.substr(0, comma));
      if (!mark.ok()) return mark.status();
      marks.push_back(*std::move(mark));
      more = comma != std::string_view::npos;
      if (more) rest.remove_prefix(comma + 1);
    }
  }
  if (marks.size() > kMaxMarks) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Too many marks: %d, at most %d", marks.size(), kMaxMarks));
  }
  return marks;
}

std::string MarkText(const MarkSpec& mark) {
  switch (mark.kind) {
    case MarkKind::kPid:
      return absl::StrFormat("%d", mark.pid);
    case MarkKind::kSelf:
      return "self";
    case MarkKind::kComm:
      return "comm:" + mark.text;
    case MarkKind::kUser:
      return "user:" + mark.text;
    case MarkKind::kCgroup:
      return "cgroup:" + mark.text;
  }
  return "";
}

}  // namespace countrace::logformat
