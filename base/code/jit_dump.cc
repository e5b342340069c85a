#include "base/code/jit_dump.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"

namespace countrace::base {
namespace {

// Layouts of the specification; numbers are in the writer's byte order.
constexpr std::uint32_t kMagic = 0x4A695444, kOtherOrder = 0x4454694A;
constexpr std::uint32_t kVersion = 1;
// The head's flag: times are ticks of the processor.
constexpr std::uint64_t kTicks = 1;
struct FileHead {
  std::uint32_t magic, version, bytes, machine, padding, pid;
  std::uint64_t time_ns, flags;
};
static_assert(sizeof(FileHead) == 40);
struct RecordHead {
  std::uint32_t id, bytes;
  std::uint64_t time_ns;
};
static_assert(sizeof(RecordHead) == 16);
constexpr std::uint32_t kCodeLoad = 0, kCodeMove = 1, kCodeClose = 3;
struct CodeLoad {
  std::uint32_t pid, tid;
  std::uint64_t address, code_address, code_bytes, index;
};  // then the name with a NUL, and the code
static_assert(sizeof(CodeLoad) == 40);
struct CodeMove {
  std::uint32_t pid, tid;
  std::uint64_t address, old_address, new_address, code_bytes, index;
};
static_assert(sizeof(CodeMove) == 48);

// What a function takes beside its name, until it is written; where the name of
// one lies; how many records are read between two looks at the clock.
constexpr std::uint64_t kFunctionBytes = 300, kPlaceBytes = 80;
constexpr std::size_t kRecordsByTime = 64;

// Reads small parts in order; between them much may be skipped.
class Reader {
 public:
  explicit Reader(const ReadAt& read) : read_(read), block_(kBlockBytes) {}

  // At most `bytes`, fewer at the end; valid until the next call.
  std::span<const std::byte> At(std::uint64_t offset, std::size_t bytes) {
    if (offset < begin_ || offset + bytes > begin_ + have_) {
      const bool is_far = offset < begin_ || offset - begin_ > have_ + kNear;
      begin_ = offset;
      have_ = read_(offset, std::span(block_).first(
                                is_far ? std::max(bytes, kNear) : kBlockBytes));
    }
    const std::size_t from = static_cast<std::size_t>(offset - begin_);
    return std::span<const std::byte>(block_).subspan(
        from, std::min(bytes, have_ - from));
  }
  template <typename T>
  bool Load(std::uint64_t offset, T& out) {
    const std::span<const std::byte> bytes = At(offset, sizeof(out));
    if (bytes.size() < sizeof(out)) return false;
    std::memcpy(&out, bytes.data(), sizeof(out));
    return true;
  }

 private:
  static constexpr std::size_t kBlockBytes = 64 << 10, kNear = 512;
  const ReadAt& read_;
  std::vector<std::byte> block_;
  std::uint64_t begin_ = 0;
  std::size_t have_ = 0;
};

absl::Status Damaged(std::uint64_t offset, std::string_view what) {
  return absl::DataLossError(absl::StrFormat(
      "at byte %d %s: names of functions from there on are missing", offset,
      what));
}

class Parser {
 public:
  // `with_places`: where all names lie, as functions may be moved.
  Parser(const ReadAt& read, const std::set<std::uint64_t>& addresses,
         bool with_places, NameLimits limits)
      : reader_(read),
        addresses_(addresses),
        with_places_(with_places),
        limits_(limits) {}

  absl::Status Parse();
  // A function was moved from or to an address that matters, and it is not
  // known whether, and where, it has a name.
  bool needs_places() const { return needs_places_; }
  NameLimits Take(JitDump& out) {
    history_.Sort();
    out.history = std::move(history_);
    out.has_times = has_times_;
    out.first_ns = first_ns_;
    out.last_ns = last_ns_;
    return limits_;
  }

 private:
  absl::Status TakeRecord(std::uint64_t at, const RecordHead& record);
  bool TakeLoad(std::uint64_t offset, std::uint64_t bytes);
  bool TakeMove(std::uint64_t offset, std::uint64_t bytes);
  // Empty: there is none, or it has no end.
  std::string NameAt(std::uint64_t offset, std::uint64_t room);
  bool Matters(std::uint64_t begin, std::uint64_t bytes) const {
    const auto address = addresses_.lower_bound(begin);
    return address != addresses_.end() && *address - begin < bytes;
  }
  void Add(std::uint64_t begin, std::uint64_t bytes, const std::string& name) {
    has_room_ = limits_.Take(2 * name.size() + kFunctionBytes);
    if (has_room_) history_.Add(begin, bytes, name, time_ns_);
  }

  Reader reader_;
  const std::set<std::uint64_t>& addresses_;
  const bool with_places_;
  bool needs_places_ = false;
  NameLimits limits_;
  bool has_room_ = true;
  CodeHistory history_;
  bool has_times_ = false;
  std::uint64_t time_ns_ = 0;  // of the record
  std::uint64_t first_ns_ = 0, last_ns_ = 0;
  std::size_t functions_ = 0;
  struct Place {
    std::uint64_t offset, room;
  };
  absl::flat_hash_map<std::uint64_t, Place> places_;  // by index
};

std::string Parser::NameAt(std::uint64_t offset, std::uint64_t room) {
  const auto text = reader_.At(
      offset,
      static_cast<std::size_t>(std::min<std::uint64_t>(room, kLongestJitName)));
  const char* const begin = reinterpret_cast<const char*>(text.data());
  return std::string(begin, strnlen(begin, text.size()));
}

bool Parser::TakeLoad(std::uint64_t offset, std::uint64_t bytes) {
  CodeLoad load;
  if (bytes < sizeof(load) || !reader_.Load(offset, load)) return false;
  const Place place = {offset + sizeof(load), bytes - sizeof(load)};
  if (Matters(load.code_address, load.code_bytes)) {
    const std::string name = NameAt(place.offset, place.room);
    if (name.size() == place.room) return false;  // no NUL
    if (name.empty()) return true;
    Add(load.code_address, load.code_bytes, name);
  } else {
    history_.Remove(load.code_address, load.code_bytes, time_ns_);
  }
  if (!with_places_) return true;
  const auto [known, added] = places_.try_emplace(load.index, place);
  if (!added) {
    known->second = place;
  } else if (!limits_.Take(kPlaceBytes)) {
    has_room_ = false;
  }
  return true;
}

bool Parser::TakeMove(std::uint64_t offset, std::uint64_t bytes) {
  CodeMove move;
  if (bytes < sizeof(move) || !reader_.Load(offset, move)) return false;
  const bool matters = Matters(move.new_address, move.code_bytes);
  const auto place = places_.find(move.index);
  if (!with_places_) {
    needs_places_ |= matters || Matters(move.old_address, move.code_bytes);
  }
  std::string name;
  if (with_places_) {
    if (place == places_.end()) return true;
    if (matters) name = NameAt(place->second.offset, place->second.room);
    if (matters && name.empty()) return true;
  }
  history_.Remove(move.old_address, move.code_bytes, time_ns_);
  history_.Remove(move.new_address, move.code_bytes, time_ns_);
  if (!name.empty()) Add(move.new_address, move.code_bytes, name);
  return true;
}

absl::Status Parser::TakeRecord(std::uint64_t at, const RecordHead& record) {
  const std::uint64_t body = at + sizeof(record);
  const std::uint64_t bytes = record.bytes - sizeof(record);
  time_ns_ = record.time_ns;
  if (functions_ == 0) first_ns_ = time_ns_;
  last_ns_ = std::max(last_ns_, time_ns_);
  if (++functions_ > kMostJitFunctions) {
    return Damaged(at, absl::StrFormat("it has more than %d functions",
                                       kMostJitFunctions));
  }
  if (record.id == kCodeLoad ? !TakeLoad(body, bytes)
                             : !TakeMove(body, bytes)) {
    // The last one may be torn.
    if (reader_.At(at + record.bytes - 1, 1).empty()) return absl::OkStatus();
    return Damaged(at, absl::StrFormat("a record of type %d is not whole in "
                                       "its %d bytes",
                                       record.id, record.bytes));
  }
  return has_room_ ? absl::OkStatus() : NameLimits::NoRoom(at);
}

absl::Status Parser::Parse() {
  FileHead head;
  if (!reader_.Load(0, head)) return Damaged(0, "it has no whole head");
  if (head.magic == kOtherOrder) {
    return Damaged(0, "it is of a processor with the other byte order");
  }
  if (head.magic != kMagic) {
    return Damaged(0, absl::StrFormat("the magic number is %08x, not %08x",
                                      head.magic, kMagic));
  }
  if (head.version != kVersion) {
    return Damaged(4, absl::StrFormat("the version is %d, not %d", head.version,
                                      kVersion));
  }
  if (head.bytes < sizeof(head)) {
    return Damaged(8, absl::StrFormat("the head has %d bytes, not %d or more",
                                      head.bytes, sizeof(head)));
  }
  has_times_ = (head.flags & kTicks) == 0;
  RecordHead record;
  std::size_t records = 0;
  for (std::uint64_t at = head.bytes; reader_.Load(at, record);
       at += record.bytes) {
    if (record.bytes < sizeof(record)) {
      // A page that is mapped and not yet written.
      if (record.bytes == 0 && record.id == 0 && record.time_ns == 0) break;
      return Damaged(at,
                     absl::StrFormat("a record has %d bytes, not %d or more",
                                     record.bytes, sizeof(record)));
    }
    if (at > kLargestJitDump) {
      return Damaged(at, absl::StrFormat("it goes on; at most %d are read",
                                         kLargestJitDump));
    }
    if (++records % kRecordsByTime == 0 && limits_.TimeIsUp()) {
      return NameLimits::NoTime(at);
    }
    if (record.id == kCodeClose) break;
    if (record.id != kCodeLoad && record.id != kCodeMove) continue;
    const absl::Status status = TakeRecord(at, record);
    if (!status.ok() || needs_places_) return status;
  }
  return absl::OkStatus();
}

}  // namespace

JitDump ReadJitDump(const ReadAt& read,
                    const std::set<std::uint64_t>& addresses,
                    NameLimits& limits) {
  JitDump out;
  for (const bool with_places : {false, true}) {
    Parser parser(read, addresses, with_places, limits);
    out.status = parser.Parse();
    if (parser.needs_places()) continue;
    limits = parser.Take(out);
    break;
  }
  return out;
}

bool IsJitDumpPath(std::string_view path) {
  constexpr std::string_view kBegin = "jit-", kEnd = ".dump";
  if (!path.starts_with('/')) return false;
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) ||
      name.size() <= kBegin.size() + kEnd.size()) {
    return false;
  }
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return name.find_first_not_of("0123456789") == name.npos;
}

std::vector<JitFunction> JitFunctionsAt(
    const JitDump& dump, bool times_hold, const LocalSymbols& others,
    const std::set<std::uint64_t>& addresses, bool& times_missing) {
  std::vector<JitFunction> names;
  const LocalSymbol* last = nullptr;
  std::set<std::size_t> timed, taken;
  for (const std::uint64_t address : addresses) {
    const std::vector<std::size_t> functions = dump.history.At(address);
    times_missing |= functions.size() > 1 && !times_hold;
    if (functions.size() > 1 && times_hold) {
      for (const std::size_t one : functions) {
        if (!timed.insert(one).second) continue;
        names.push_back({dump.history[one], true});
        // It may have run before it was described.
        if (one == functions.front()) names.back().function.from_ns = 0;
      }
    } else if (!functions.empty()) {
      if (!taken.insert(functions.back()).second) continue;
      names.push_back({dump.history[functions.back()], false});
    } else if (const LocalSymbol* const other = others.Find(address);
               other != nullptr && other != last) {
      last = other;
      names.push_back(
          {{.begin = other->begin, .bytes = other->bytes, .name = other->name},
           false});
    }
  }
  return names;
}

}  // namespace countrace::base
