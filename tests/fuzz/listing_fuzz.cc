// Any bytes as a listing of counts: a message with its place, or rows in the
// order of CPUs and times, each with a count for each event.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "logformat/import/listing/listing.h"

namespace {

using countrace::importer::Listing;

void Check(const absl::StatusOr<Listing>& listing) {
  if (!listing.ok()) {
    if (listing.status().message().find("fuzz:") != 0) std::abort();
    return;
  }
  if (listing->events.empty() || listing->rows.empty()) std::abort();
  const Listing::Row* last = nullptr;
  for (const Listing::Row& row : listing->rows) {
    if (row.counts.size() != listing->events.size() || row.cpu < 0) {
      std::abort();
    }
    if (last != nullptr &&
        (row.cpu < last->cpu ||
         (row.cpu == last->cpu && row.time_ns <= last->time_ns))) {
      std::abort();
    }
    last = &row;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Each parser, not only the one that the first bytes name.
  Check(countrace::importer::ParsePmcount(text, "fuzz"));
  Check(countrace::importer::ParsePerfStat(text, "fuzz"));
  Check(countrace::importer::ParseLikwid(text, "fuzz"));
  Check(countrace::importer::ParseListing(text, "fuzz"));
  return 0;
}
