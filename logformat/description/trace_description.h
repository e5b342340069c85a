// A trace's description: TraceInfo, and the session-wide losses that belong to
// no stream. Written to `metadata`, read from it or from the session files.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DESCRIPTION_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DESCRIPTION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// Content of a stream file when the trace was finished. It shows whether a file
// was removed later, or cut at a packet boundary.
struct FinishedStream {
  std::string file;
  std::uint64_t packets = 0;  // the last packet's sequence number + 1
};

// Limits for TraceInfo::source_paths and ::not_known.
inline constexpr std::size_t kMaxSourcePaths = 4096;
inline constexpr std::size_t kMaxNotKnown = 1024;
inline constexpr std::size_t kListingTexts = 3;  // TraceInfo::listing
inline constexpr std::size_t kMaxNotRecorded = 64;
inline constexpr std::size_t kMaxNamedValues = 65536;

struct TraceDescription {
  TraceInfo info;
  std::vector<FinishedStream> streams;  // of a finished trace
  std::array<std::uint64_t, kDiscardCauses> discarded{};
  std::uint32_t last_errno = 0;
  std::uint32_t late_sub_buffers = 0;
  bool from_metadata = false;  // read from a complete `metadata` file
  // Parts of the description that could not be read (a torn `.hooks` line).
  std::vector<std::string> messages;

  // Finished, by a version that stores them: each packet has one.
  bool has_checksums() const {
    return from_metadata && HasChecksums(info.format);
  }
};

// FinishedStream::packets by file.
class ExpectedPackets {
 public:
  explicit ExpectedPackets(const std::vector<FinishedStream>& streams);
  // 0 if the file is not listed.
  std::uint64_t Of(std::string_view file) const;

 private:
  std::map<std::string, std::uint64_t, std::less<>> packets_;
};

// Kind and origin in one word: "segment", "point", "kernel-segment", ...
std::string_view HookKindWord(const HookInfo& hook);
// Types of a hook's values, one letter each: "us", "us/i" of a kernel hook's
// segment (enter, exit), "-" without values.
std::string PayloadTypesText(const HookInfo& hook);
// Text of one hook without its id, as in `.hooks` and in the env block:
// "segment\tus\tserver:handle\tserver.cc:12" (session_layout.h).
std::string HookText(const HookInfo& hook);
// "NS LO HI NS LO HI" of a kernel hook whose cost is known, else empty. A
// probe's is in the text of the hook, this one in a line of its own, which
// older readers leave out.
std::string CostText(const HookInfo& hook);
// Sets it; false: it is no such text, or `hook` is no kernel hook.
bool TakeCostText(std::string_view text, HookInfo& hook);
// "id,name", and the names of such a text; none: it is no list of different
// names of at most kMaxPayloadName letters, digits and `_`.
inline constexpr std::size_t kMaxPayloadName = 64;
std::string PayloadNamesText(const std::vector<std::string>& names);
std::vector<std::string> ParsePayloadNames(std::string_view text);
// Names the values of `hook`, if there is one for each: other characters become
// `_`, and equal names different.
void SetPayloadNames(std::vector<std::string> names, HookInfo& hook);
// "ID\tnumbers\tI\tTEXT" for each value whose numbers have names.
std::vector<std::string> NumberNamesTexts(const std::vector<HookInfo>& hooks);
// Inverse: names a value; false if `text` is none, or there is no such integer.
bool ParseNumberNamesText(std::string_view text, std::vector<HookInfo>& hooks);
// Inverse; nullopt if `text` is not a hook's text.
std::string ProcessText(const ProcessName& process);  // "PID\tCOMM"
std::optional<ProcessName> ParseProcessText(std::string_view text);
std::optional<HookInfo> ParseHookText(std::uint32_t id, std::string_view text);
// Makes `hook` a level of a scope so named, with a value `on`; false: it cannot
// be one.
bool SetLevel(std::string_view scope, HookInfo& hook);
// The same by "ID\tSCOPE", which stands behind the last one's line.
bool TakeLevelText(std::string_view text, std::vector<HookInfo>& hooks);

// "user\tUID\tNAME" or "cgroup\tID\tPATH", a line of `.owners`; control
// characters in names become '?'.
std::string UserText(std::uint32_t uid, std::string_view name);
std::string CgroupText(std::uint64_t id, std::string_view path);
// Adds it to `info`; false if `text` is neither, or its id has a name already.
bool ParseOwnerText(std::string_view text, TraceInfo& info);

// "TIME_NS\tTRIGGER\tWHAT", a line of `.triggers`; control characters in the
// texts become '?'.
std::string TriggerText(const TriggerFiring& firing);
std::optional<TriggerFiring> ParseTriggerText(std::string_view text);

// "CAUSE\tCOUNT\tTEXT", a line of `.not_recorded`, as above.
std::string NotRecordedText(const NotRecorded& what);
std::optional<NotRecorded> ParseNotRecordedText(std::string_view text);
// At most kMaxNotRecorded of them: the last ones are one for each cause.
std::vector<NotRecorded> FitNotRecorded(std::vector<NotRecorded> all);

using Uuid = std::array<std::uint8_t, 16>;
// "01234567-89ab-cdef-0123-456789abcdef", both ways.
std::string FormatUuid(const Uuid& uuid);
std::optional<Uuid> ParseUuid(std::string_view text);
// Those of boot_id, machine_hash and container that are known, by name.
std::vector<std::pair<const char*, std::string>> IdsOf(const TraceInfo& info);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_TRACE_DESCRIPTION_H_
