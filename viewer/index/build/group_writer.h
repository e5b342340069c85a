// The leaves of a row by key and parent key, and their sums: groups, while an
// index is written.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_GROUP_WRITER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_GROUP_WRITER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "viewer/index/build/index_builder.h"
#include "viewer/index/build/index_file_writer.h"
#include "viewer/index/build/row_spool.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

struct Posting {
  std::uint32_t leaf;
  std::uint64_t wall_ns, on_cpu_ns;
  bool counted;  // GroupSum::uncounted
  bool end_inferred;
};
struct GroupKey {
  std::uint32_t hook_id;
  std::uint32_t parent;  // the enclosing hook, or kNoKey
  std::uint32_t path;    // or kNoKey
  auto operator<=>(const GroupKey&) const = default;
};
// Memory: of one row.
using Postings = std::map<GroupKey, std::vector<Posting>>;

// Call paths, numbered as they come.
class PathTable {
 public:
  // The path of `hook_id` inside `parent` (kNoKey: none).
  std::uint32_t Inside(std::uint32_t parent, std::uint32_t hook_id);
  const std::vector<PathEntry>& entries() const { return entries_; }

 private:
  bool Has(std::uint32_t path, std::uint32_t hook_id) const;

  using Place = std::pair<std::uint32_t, std::uint32_t>;  // parent, hook
  std::uint32_t Number(Place place);

  std::map<Place, std::uint32_t> numbers_;
  std::map<std::uint32_t, std::uint32_t> folded_;  // by hook
  std::vector<PathEntry> entries_;
  // The last answer: most often the next one, too.
  Place last_;
  std::uint32_t last_number_ = kNoKey;
};

// Finds what encloses each leaf of a row in the row above. Times are absolute.
class EnclosingLeaves {
 public:
  // `above`: null if no row is.
  EnclosingLeaves(const RowSpool& spool, const CollectedRow* above);
  struct Enclosing {
    std::uint32_t key = kNoKey, leaf = 0;  // its number in the row above
  };
  // The key is kNoKey if none does. Requires: leaves in the order of their
  // begins.
  Enclosing Above(const IntervalLeaf& leaf);

 private:
  std::unique_ptr<RowCursor> cursor_;
  const std::byte* above_ = nullptr;
  const std::byte* next_ = nullptr;
  std::uint32_t number_ = 0;  // of above_
};

// Writes postings and sums of row number `row` to the open section; its groups
// go to `groups`, counted calls whose end was not recorded to `inferred`.
void WriteGroups(const Postings& postings, std::uint32_t row,
                 std::uint32_t process, IndexFileWriter& out, RowEntry& entry,
                 std::vector<GroupEntry>& groups,
                 std::vector<InferredCall>& inferred);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_GROUP_WRITER_H_
