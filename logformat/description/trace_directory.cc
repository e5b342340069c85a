#include "logformat/description/trace_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "base/posix/regular_file.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/metadata_reader.h"
#include "logformat/description/session_files.h"

namespace countrace::logformat {
namespace {

constexpr std::string_view kCpuPrefix = "cpu-";
constexpr std::string_view kThreadPrefix = "thread-";
// The largest text countrace writes has 16,383 hooks and is smaller.
constexpr std::size_t kMaxMetadataBytes = 64 << 20;
constexpr std::uint64_t kMostIncompleteBytes = 64;

std::uint32_t LoadMagic(std::string_view text) {
  std::uint32_t magic = 0;
  std::memcpy(&magic, text.data(), sizeof(magic));
  return magic;
}

// Null: by no program that is known.
const char* PackedBy(std::string_view text) {
  constexpr std::pair<std::string_view, const char*> kMagics[] = {
      {"\x1f\x8b", "gzip"},
      {"\xfd\x37zXZ", "xz"},
      {"\x28\xb5\x2f\xfd", "zstd"},
      {"BZh", "bzip2"},
      {"PK\x03\x04", "zip"}};
  for (const auto& [magic, packer] : kMagics) {
    if (text.starts_with(magic)) return packer;
  }
  return text.size() > 262 && text.substr(257, 5) == "ustar" ? "tar" : nullptr;
}

// Why a file is not a trace directory.
std::string NotADirectory(const std::string& path, mode_t mode) {
  if (!S_ISREG(mode)) {
    return absl::StrFormat("%s is not a directory: mode=%#o", path, mode);
  }
  std::string kind = "a file";
  std::string remedy = "give the directory that `countrace record -o` wrote";
  if (absl::StatusOr<base::FileMapping> file = base::FileMapping::Open(path);
      file.ok()) {
    const std::string_view text = file->text();
    if (text.starts_with("PERFILE2") || text.starts_with("2ELIFREP")) {
      kind = "a perf.data file";
      remedy = "`countrace import -o TRACE` makes it one";
    } else if (text.starts_with("PERFFILE")) {
      kind = "a perf.data file of version 1 (perf before Linux 2.6.33)";
      remedy = "only version 2 is read; perf of its time reads it";
    } else if (text.starts_with("\x17\x08\x44tracing")) {
      kind = "a trace.dat of trace-cmd";
      remedy =
          "its format is not read; `perf record -e` and `countrace record` "
          "write what is";
    } else if (const char* packer = PackedBy(text); packer != nullptr) {
      kind = absl::StrFormat("a file packed by %s", packer);
      remedy = "unpack it, and give what was in it";
    } else if (text.size() >= 4 && LoadMagic(text) == kPacketMagic) {
      kind = "a single stream file of a CTF trace";
      remedy = "give the directory it lies in";
    } else if (text.starts_with("/* CTF 1.8 */")) {
      kind = "the metadata of a CTF trace";
      remedy = "give the directory it lies in";
    }
  }
  return absl::StrFormat("%s is %s, not a trace directory: %s", path, kind,
                         remedy);
}

// cpu-2 before cpu-10, cpu streams before thread streams, the clock's last.
auto StreamOrder(const StreamFile& stream) {
  const std::size_t dash = stream.name.find('-');
  const std::size_t digits =
      std::min(stream.name.find_first_not_of("0123456789", dash + 1),
               stream.name.size()) -
      dash - 1;
  return std::make_tuple(stream.stream_class, digits,
                         std::string_view(stream.name));
}

// What `entry` of the directory `path` is; null for a regular file.
const char* OtherKind(const std::string& path, const dirent& entry) {
  mode_t mode = DTTOIF(entry.d_type);
  if (entry.d_type == DT_UNKNOWN) {  // the file system does not say
    struct stat status = {};
    if (lstat((path + "/" + entry.d_name).c_str(), &status) != 0)
      return nullptr;
    mode = status.st_mode;
  }
  switch (mode & S_IFMT) {
    case S_IFREG:
      return nullptr;
    case S_IFLNK:
      return "symbolic link";
    case S_IFDIR:
      return "directory";
    case S_IFIFO:
      return "pipe";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

void ProbeLock(TraceDirectory& directory) {
  const std::string file = directory.path + "/" + kIncompleteFile;
  const base::ScopedFd fd(
      open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.is_open()) return;
  directory.locked =
      flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat status = {};
  const auto text = base::ReadAll(fd.get(), kMostIncompleteBytes);
  directory.copied = text.ok() && !text->empty() &&
                     fstat(fd.get(), &status) == 0 &&
                     *text != IncompleteText(status.st_ino);
}

}  // namespace

std::string IncompleteText(std::uint64_t inode) {
  return absl::StrFormat("%d\n", inode);
}

absl::StatusOr<TraceDirectory> ListTraceDirectory(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return absl::NotFoundError(absl::StrFormat(
          "There is no trace %s; `countrace record -o DIR` makes one", path));
    }
    return absl::ErrnoToStatus(error, absl::StrFormat("Cannot open %s", path));
  }
  if (!S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError(NotADirectory(path, status.st_mode));
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()),
                                                closedir);
  if (dir == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrFormat("Cannot open %s", path));
  }
  TraceDirectory directory;
  directory.path = path;
  std::size_t files = 0;
  while (const dirent* entry = readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    ++files;
    if (name == kMetadataFile) {
      directory.has_metadata = true;
    } else if (name == kSessionFile || name == kComingSessionFile) {
      directory.has_session = true;
    } else if (name == kIncompleteFile) {
      directory.incomplete = true;
    } else if (name.starts_with(kRewritePrefix) || name == kMetadataTemporary) {
      directory.temporaries.emplace_back(name);
    } else if (name.starts_with(kUserFolderPrefix)) {
      directory.user_folders.emplace_back(name);
    } else if (const char* kind = OtherKind(path, *entry);
               kind != nullptr &&
               (name.starts_with(kCpuPrefix) || name == kClockStream ||
                name.starts_with(kThreadPrefix))) {
      directory.not_files.push_back(absl::StrFormat("%s is a %s", name, kind));
    } else if (name.starts_with(kCpuPrefix)) {
      directory.streams.push_back({std::string(name), StreamClass::kCpu});
    } else if (name.starts_with(kThreadPrefix)) {
      directory.streams.push_back({std::string(name), StreamClass::kThread});
    } else if (name == kClockStream) {
      directory.streams.push_back({std::string(name), StreamClass::kClock});
    } else if (!name.starts_with('.')) {
      directory.strangers.emplace_back(name);
    }
  }
  std::sort(directory.streams.begin(), directory.streams.end(),
            [](const StreamFile& a, const StreamFile& b) {
              return StreamOrder(a) < StreamOrder(b);
            });
  std::sort(directory.strangers.begin(), directory.strangers.end());
  std::sort(directory.not_files.begin(), directory.not_files.end());
  if (directory.incomplete) ProbeLock(directory);
  if (!directory.has_metadata && !directory.has_session) {
    if (directory.incomplete) {
      return absl::DataLossError(absl::StrFormat(
          "Cannot read trace %s: it is unfinished, and %s, which describes its "
          "%d streams, is missing",
          path, kSessionFile, directory.streams.size()));
    }
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is not a trace: it holds %d files, but neither %s nor %s; give the "
        "directory that `countrace record -o` wrote",
        path, files, kMetadataFile, kSessionFile));
  }
  return directory;
}

absl::StatusOr<TraceDescription> DescribeTrace(
    const TraceDirectory& directory) {
  absl::StatusOr<TraceDescription> from_metadata =
      absl::NotFoundError("no metadata");
  if (directory.has_metadata) {
    absl::StatusOr<base::FileMapping> file =
        base::FileMapping::Open(directory.path + "/" + kMetadataFile);
    if (!file.ok()) return file.status();
    if (file->bytes().size() > kMaxMetadataBytes) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s/%s has %d bytes, more than %d: not a trace of countrace",
          directory.path, kMetadataFile, file->bytes().size(),
          kMaxMetadataBytes));
    }
    from_metadata = ParseMetadata(file->text(), directory.path);
    const absl::Status whole = file->CheckWhole();
    if (!whole.ok()) return whole;
  }
  const bool session_counts = directory.has_session && directory.incomplete;
  if (!session_counts) {
    if (!directory.has_metadata && directory.has_session) {
      // The trace was copied with its `.incomplete`.
      return ReadSessionFiles(directory.path);
    }
    if (from_metadata.ok()) {
      from_metadata->info.finished = !directory.incomplete;
      from_metadata->info.recording = directory.locked;
    }
    return from_metadata;
  }
  absl::StatusOr<TraceDescription> from_session =
      ReadSessionFiles(directory.path);
  absl::StatusOr<TraceDescription>& chosen =
      from_metadata.ok() && (!from_session.ok() || from_session->info.uuid ==
                                                       from_metadata->info.uuid)
          ? from_metadata
          : from_session;
  if (chosen.ok()) {
    for (const std::string& folder : directory.user_folders) {
      chosen->messages.push_back(absl::StrFormat(
          "%s has records of another user's programs: they are in the trace "
          "when it is finished (`countrace recover`, or the recording's end)",
          folder));
    }
    chosen->info.finished = false;
    chosen->info.recording = directory.locked;
  }
  return chosen;
}

std::vector<std::string> MissingStreams(const TraceDirectory& directory,
                                        const TraceDescription& description) {
  // Names in one message: a folder may hold 100,000 files.
  constexpr std::size_t kMostNamed = 20;
  std::vector<std::string> messages;
  std::size_t unlisted = 0, gone = 0;
  std::set<std::string_view> present, listed;
  for (const StreamFile& file : directory.streams) present.insert(file.name);
  for (const FinishedStream& stream : description.streams) {
    listed.insert(stream.file);
    if (present.count(stream.file) != 0) continue;
    if (++gone > kMostNamed) continue;
    messages.push_back(absl::StrFormat(
        "stream file %s is gone, and with it the records of %s", stream.file,
        stream.packets == 0 ? "an unknown number of packets"
                            : absl::StrFormat("%d packets", stream.packets)));
  }
  if (gone > kMostNamed) {
    messages.push_back(
        absl::StrFormat("%d more stream files are gone", gone - kMostNamed));
  }
  for (const StreamFile& file : directory.streams) {
    if (!description.from_metadata || listed.empty() ||
        listed.count(file.name) != 0) {
      continue;
    }
    if (++unlisted > kMostNamed) continue;
    messages.push_back(absl::StrFormat(
        "stream file %s was not there when the trace was finished", file.name));
  }
  if (unlisted > kMostNamed) {
    messages.push_back(absl::StrFormat(
        "%d more stream files were not there when the trace was finished",
        unlisted - kMostNamed));
  }
  for (std::size_t i = 0; i < directory.not_files.size(); ++i) {
    if (i == kMostNamed) {
      messages.push_back(absl::StrFormat("%d more are no stream files",
                                         directory.not_files.size() - i));
      break;
    }
    messages.push_back(directory.not_files[i] +
                       ", not a stream file: it was not read, and babeltrace2 "
                       "would read it; move it away");
  }
  return messages;
}

}  // namespace countrace::logformat
