#include "base/code/jit_dump.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

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

// Reads small parts in order; between them much may be skipped.
class Reader {
 public:
  explicit Reader(const ReadAt& read) : read_(read), block_(kBlockBytes) {}

  // At most `bytes`, fewer at the end; valid until the next call.
  std::span<const std::byte> At(std::uint64_t offset, std::size_t bytes) {
    if (offset < begin_ || offset + bytes > begin_ + have_) {
      begin_ = offset;
      have_ = read_(offset, block_);
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
  static constexpr std::size_t kBlockBytes = 64 << 10;
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
  explicit Parser(const ReadAt& read) : reader_(read) {}

  absl::Status Parse();
  void Take(JitDump& out) {
    out.symbols = std::move(builder_).Take();
    out.history = std::move(history_);
    out.history.Sort();
    out.has_times = has_times_;
    out.last_ns = last_ns_;
  }

 private:
  bool TakeLoad(std::uint64_t offset, std::uint64_t bytes);
  bool TakeMove(std::uint64_t offset, std::uint64_t bytes);
  void Add(std::uint64_t begin, std::uint64_t bytes, const std::string& name) {
    builder_.Add(begin, bytes, name);
    history_.Add(begin, bytes, name, time_ns_);
  }

  Reader reader_;
  LocalSymbolsBuilder builder_;
  CodeHistory history_;
  bool has_times_ = false;
  std::uint64_t time_ns_ = 0, last_ns_ = 0;  // of the record; the latest
  std::size_t functions_ = 0;
  std::unordered_map<std::uint64_t, std::string> names_;  // by index
};

bool Parser::TakeLoad(std::uint64_t offset, std::uint64_t bytes) {
  CodeLoad load;
  if (bytes < sizeof(load) || !reader_.Load(offset, load)) return false;
  const std::uint64_t room = bytes - sizeof(load);
  const auto text = reader_.At(
      offset + sizeof(load),
      static_cast<std::size_t>(std::min<std::uint64_t>(room, kLongestJitName)));
  const char* const begin = reinterpret_cast<const char*>(text.data());
  std::string name(begin, strnlen(begin, text.size()));
  if (name.size() == room) return false;  // no NUL
  if (!name.empty()) {
    Add(load.code_address, load.code_bytes, name);
    names_[load.index] = std::move(name);
  }
  return true;
}

bool Parser::TakeMove(std::uint64_t offset, std::uint64_t bytes) {
  CodeMove move;
  if (bytes < sizeof(move) || !reader_.Load(offset, move)) return false;
  const auto name = names_.find(move.index);
  if (name != names_.end()) {
    history_.Remove(move.old_address, move.code_bytes, time_ns_);
    Add(move.new_address, move.code_bytes, name->second);
  }
  return true;
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
    const std::uint64_t body = at + sizeof(record);
    const std::uint64_t bytes = record.bytes - sizeof(record);
    if (record.id == kCodeClose) break;
    if (record.id != kCodeLoad && record.id != kCodeMove) continue;
    time_ns_ = record.time_ns;
    last_ns_ = std::max(last_ns_, time_ns_);
    if (++functions_ > kMostJitFunctions) {
      return Damaged(at, absl::StrFormat("it has more than %d functions",
                                         kMostJitFunctions));
    }
    if (record.id == kCodeLoad ? !TakeLoad(body, bytes)
                               : !TakeMove(body, bytes)) {
      // The last one may be torn.
      if (reader_.At(at + record.bytes - 1, 1).empty()) break;
      return Damaged(at, absl::StrFormat("a record of type %d is not whole in "
                                         "its %d bytes",
                                         record.id, record.bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

JitDump ReadJitDump(const ReadAt& read) {
  Parser parser(read);
  JitDump out;
  out.status = parser.Parse();
  parser.Take(out);
  return out;
}

JitDump ReadJitDump(int fd) {
  return ReadJitDump([fd](std::uint64_t offset, std::span<std::byte> out) {
    std::size_t have = 0;
    while (have < out.size()) {
      const ssize_t bytes = pread(fd, out.data() + have, out.size() - have,
                                  static_cast<off_t>(offset + have));
      if (bytes <= 0) break;
      have += static_cast<std::size_t>(bytes);
    }
    return have;
  });
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
  std::set<std::size_t> taken;
  for (const std::uint64_t address : addresses) {
    const std::vector<std::size_t> functions = dump.history.At(address);
    times_missing |= functions.size() > 1 && !times_hold;
    if (functions.size() > 1 && times_hold) {
      for (const std::size_t one : functions) {
        if (!taken.insert(one).second) continue;
        names.push_back({dump.history[one], true});
        // It may have run before it was described.
        if (one == functions.front()) names.back().function.from_ns = 0;
      }
      continue;
    }
    const LocalSymbol* symbol = dump.symbols.Find(address);
    if (symbol == nullptr) symbol = others.Find(address);
    if (symbol == nullptr || symbol == last) continue;
    last = symbol;
    names.emplace_back();
    names.back().function.begin = symbol->begin;
    names.back().function.bytes = symbol->bytes;
    names.back().function.name = symbol->name;
  }
  return names;
}

}  // namespace countrace::base
