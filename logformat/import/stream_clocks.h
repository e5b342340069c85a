// The time of a libbabeltrace2 message, and whether streams share a timeline.
//
// Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_STREAM_CLOCKS_H_
#define COUNTRACE_LOGFORMAT_IMPORT_STREAM_CLOCKS_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::importer {

// ns since the origin of the message's clock; nullopt: it has no time.
// Returns: INVALID_ARGUMENT beyond 2^63.
absl::StatusOr<std::optional<std::int64_t>> TimeOf(const bt_message& message);

// False: there are streams (null: none), and none of them has a clock.
bool HaveClocks(const std::vector<const bt_stream*>& streams);

// Checks that all streams (null: none) have clocks on one timeline, by the rule
// of the library's own muxer. Returns: INVALID_ARGUMENT.
absl::Status CheckClocks(const std::vector<const bt_stream*>& streams);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_STREAM_CLOCKS_H_
