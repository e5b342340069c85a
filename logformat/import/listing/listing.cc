#include "logformat/import/listing/listing.h"

#include "absl/strings/str_format.h"
#include "base/text/source_place.h"

namespace countrace::importer {

absl::StatusOr<Listing> ParseListing(std::string_view text,
                                     const std::string& file) {
  const base::SourcePlace begin{file, 1, 1};
  if (text.size() > kMaxListingBytes) {
    return base::ErrorAt(begin, absl::StrFormat("%d bytes, more than %d",
                                                text.size(), kMaxListingBytes));
  }
  const ListingKind kind = ListingKindOf(text);
  if (kind == ListingKind::kNone) {
    return base::ErrorAt(begin, "no listing of a tool that is known");
  }
  return kind == ListingKind::kPmcount    ? ParsePmcount(text, file)
         : kind == ListingKind::kPerfStat ? ParsePerfStat(text, file)
                                          : ParseLikwid(text, file);
}

}  // namespace countrace::importer
