// One tile: a row, 512 columns of 2^level ns, as bytes for the client (API.md,
// "Tiles"). Its size is bounded for any row and level.
#ifndef COUNTRACE_VIEWER_INDEX_INSTANT_TILE_H_
#define COUNTRACE_VIEWER_INDEX_INSTANT_TILE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

inline constexpr std::uint32_t kTileColumns = 512;
// A tile with this many leaves or fewer lists them exactly.
inline constexpr std::uint64_t kMaxTileItems = 128;
// A thread's states are more than its dispatches.
inline constexpr std::uint64_t kMaxStateItems = 4 * kMaxTileItems;
inline constexpr std::uint32_t kMaxLevel = 54;

enum class TileKind : std::uint8_t {
  kStrip = 1,    // StripColumn
  kItems = 2,    // TileItem
  kCounter = 3,  // CounterColumn
  kDensity = 4,  // StripColumn; coverage = 16 * log2(1 + count)
  kShares = 5,   // SharesColumn: rows of CPUs
  kStates = 6,   // StatesColumn: rows of threads
  kThreads = 7,  // ThreadsColumn: rows of processes
};

struct TileKey {
  std::uint32_t row;
  std::uint32_t level;
  std::uint64_t index;  // begins at index * 512 * 2^level
};

struct TileHeader {
  char magic[4];  // "PVT3"
  TileKind kind;
  std::uint8_t level;
  std::uint16_t columns;
  std::uint32_t row;
  std::uint32_t items;
  double begin_ns, column_ns;
  std::uint32_t generation;  // of the request
  std::uint32_t bytes;       // of the tile, this header included
  std::uint64_t index;
};
static_assert(sizeof(TileHeader) == 48);

struct TileItem {
  double begin_ns, end_ns;  // exact, not cut at the tile's edges
  std::uint32_t key;
  std::uint32_t flags;  // LeafFlags
  std::uint32_t count;
  std::uint32_t leaf;
};
static_assert(sizeof(TileItem) == 32);

// Who had a CPU. Shares are of 255; a share of which anything is there is at
// least 1. Heaviest key first; `other`: of all further keys.
struct SharesColumn {
  std::uint32_t keys[kSketchEntries];  // processes; kNoKey: none
  std::uint8_t shares[kSketchEntries];
  std::uint8_t other, idle, outside;
  std::uint8_t interrupts;  // part of the others
  std::uint16_t count;      // dispatches, saturated
  std::uint8_t flags;       // ColumnFlags
  std::uint8_t reserved;
};
static_assert(sizeof(SharesColumn) == 28);

// What a thread did; of 255, as above. The rest: it did not live.
struct StatesColumn {
  std::uint32_t key;    // the CPU where it ran most, or kNoKey
  std::uint16_t count;  // dispatches, saturated
  std::uint8_t flags;   // ColumnFlags
  std::uint8_t reserved;
  std::uint8_t running, waiting, blocked, unknown;
};
static_assert(sizeof(StatesColumn) == 12);

// What the threads of a process did: how many, on average over the column.
struct ThreadsColumn {
  float running, waiting;
  float dispatches;  // that begin in it
};
static_assert(sizeof(ThreadsColumn) == 12);

enum CounterColumnFlags : std::uint32_t {
  kCounterGap = 1u << 0,      // part of the column is unknown
  kCounterBounded = 1u << 1,  // min and max are bounds (sum over CPUs)
  kCounterEmpty = 1u << 2,    // the whole column is unknown
};
struct CounterColumn {
  float min, max, mean;  // events per second
  // The count of the column is not known where its edges are between dumps:
  // rates that hold the truth; hi infinite where it was not counted.
  float lo, hi;
  std::uint32_t flags;
};
static_assert(sizeof(CounterColumn) == 24);

// Counter rows have numbers after the index's rows: for each event the sum over
// CPUs, then each CPU.
std::uint32_t CounterRowNumber(const TimelineIndex& index, std::uint32_t event,
                               std::uint32_t cpu_plus_one);
// Then the sum of all CPUs (TileKind::kShares), then each process (kThreads).
std::uint32_t MachineRowNumber(const TimelineIndex& index);
std::uint32_t RowNumbers(const TimelineIndex& index);

// Returns: INVALID_ARGUMENT level or index out of range; NOT_FOUND no such row,
// or a row that is not drawn.
absl::StatusOr<std::string> BuildTile(const TimelineIndex& index,
                                      const TileKey& key,
                                      std::uint32_t generation);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_INSTANT_TILE_H_
