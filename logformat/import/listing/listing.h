// Counts that another tool printed as text: pmcount's listings, the CSV of
// `perf stat -x,` and `likwid-perfctr -O`.
//
// In: the text of a file. Out: columns of events, rows of CPUs. Text is
// untrusted: at most kMaxListingBytes, kMaxListingCpus. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_LISTING_LISTING_H_
#define COUNTRACE_LOGFORMAT_IMPORT_LISTING_LISTING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::importer {

inline constexpr std::size_t kMaxListingBytes = 16 << 20;
inline constexpr std::int32_t kMaxListingCpus = 1 << 14;

struct Listing {
  struct Row {
    std::int32_t cpu = 0;
    std::uint64_t time_ns = 0;          // since the begin
    std::vector<std::uint64_t> counts;  // since the begin, one an event
  };
  std::string tool;     // "pmcount": also the process that has the counts
  std::string command;  // as the listing says it; may be empty
  std::vector<std::string> events;
  std::vector<Row> rows;  // of each CPU in the order of time
  // The last row is of all CPUs that are not listed.
  bool has_not_listed = false;
  bool has_times = false;
  // TraceInfo::listing.
  std::vector<std::string> text;
  std::vector<std::string> not_known;
};

enum class ListingKind : std::uint8_t { kNone, kPmcount, kPerfStat, kLikwid };
// Judged by the first kListingHead bytes of a file.
inline constexpr std::size_t kListingHead = 4096;
ListingKind ListingKindOf(std::string_view head);

// `file` is for messages. Errors: INVALID_ARGUMENT "FILE:LINE:COLUMN: ...":
// what is wrong, with both numbers where two disagree.
absl::StatusOr<Listing> ParseListing(std::string_view text,
                                     const std::string& file);
absl::StatusOr<Listing> ParsePmcount(std::string_view text,
                                     const std::string& file);
absl::StatusOr<Listing> ParsePerfStat(std::string_view text,
                                      const std::string& file);
absl::StatusOr<Listing> ParseLikwid(std::string_view text,
                                    const std::string& file);

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_LISTING_LISTING_H_
