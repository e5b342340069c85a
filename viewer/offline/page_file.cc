#include "viewer/offline/page_file.h"

#include <zlib.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/posix/pending_file.h"
#include "viewer/server/api/index_api.h"
#include "viewer/server/http/web_assets.h"

namespace countrace::viewer {
namespace {

// Each part of the index is an element of its own: a text node of a browser has
// less than 2^29 letters. A multiple of 3, so that it is decoded alone.
constexpr std::size_t kPartBytes = 3 << 20;
constexpr std::size_t kInputBytes = 1 << 20;

std::string Asset(std::string_view path) {
  for (const WebAsset& asset : WebAssets()) {
    if (asset.path == path) return std::string(asset.bytes);
  }
  return {};
}

// What the page may do: run its own scripts and the module. It has no address
// to reach.
std::string Policy(const std::string& nonce) {
  return absl::StrFormat(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; script-src 'nonce-%s' 'wasm-unsafe-eval'; style-src 'nonce-%s'; "
      "worker-src blob:; img-src data: blob:; base-uri 'none'; form-action "
      "'none'\">",
      nonce, nonce);
}

// The front end's page with all that it loads in it, up to the index and from
// there on.
struct Frame {
  std::string before, after;
};
Frame FrameOf(const TimelineIndex& index, const PageFileOptions& options) {
  const std::string nonce = IdOf(index);
  const std::string begin = absl::StrFormat(
      "<script type=\"text/plain\" id=\"notes\">%s</script>\n"
      "<script type=\"text/plain\" id=\"index-worker\">%s</script>\n"
      "<script type=\"text/plain\" id=\"index-module\" data-index-bytes=\"%d\" "
      "data-samples-bytes=\"%d\">%s</script>\n",
      absl::Base64Escape(options.notes), Asset("/index_worker.js"),
      index.bytes().size(), options.samples.size(),
      absl::Base64Escape(std::string(options.module)));
  std::string head = "<meta charset=\"utf-8\">\n    " + Policy(nonce);
  for (const auto& [name, id] : options.ids) {
    absl::StrAppendFormat(
        &head, "\n    <meta name=\"countrace.%s\" content=\"%s\">", name,
        absl::StrReplaceAll(id, {{"&", "&amp;"}, {"\"", "&quot;"}}));
  }
  constexpr std::string_view kIndex = "<!-- index -->";
  const std::string page = absl::StrReplaceAll(
      Asset("/"), {{"<meta charset=\"utf-8\">", head},
                   {"href=\"/icon.svg\"",
                    "href=\"data:image/svg+xml;base64," +
                        absl::Base64Escape(Asset("/icon.svg")) + "\""},
                   {"<link rel=\"stylesheet\" href=\"/app.css\">",
                    absl::StrFormat("<style nonce=\"%s\">%s</style>", nonce,
                                    Asset("/app.css"))},
                   {"<script src=\"/app.js\"></script>",
                    absl::StrFormat("%s%s<script nonce=\"%s\">%s</script>",
                                    begin, kIndex, nonce, Asset("/app.js"))}});
  const std::size_t at = page.find(kIndex);
  return {page.substr(0, at), page.substr(at + kIndex.size())};
}

// A gzip stream.
class Compression {
 public:
  Compression() {
    constexpr int kGzip = 16, kWindow = 15, kMemory = 8;
    ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                          kWindow + kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Compression() { deflateEnd(&stream_); }
  Compression(const Compression&) = delete;
  Compression& operator=(const Compression&) = delete;

  bool ready() const { return ready_; }
  void Add(std::span<const std::byte> bytes, bool last, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(
        const_cast<std::byte*>(bytes.data()));  // zlib only reads
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      char buffer[1 << 16];
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof(buffer);
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      out.append(buffer, sizeof(buffer) - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
};

// `kind`: index, samples.
absl::Status AppendPart(std::string_view kind, const std::string& bytes,
                        base::PendingFile& page) {
  return page.Append(absl::StrFormat(
      "<script type=\"text/plain\" class=\"%s-part\">%s</script>\n", kind,
      absl::Base64Escape(bytes)));
}

absl::Status AppendPacked(std::string_view kind,
                          std::span<const std::byte> bytes,
                          const logformat::ProgressCallback& progress,
                          base::PendingFile& page) {
  Compression compression;
  if (!compression.ready()) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("No memory to compress the %s", kind));
  }
  std::string packed;
  std::size_t at = 0;
  do {
    const auto input =
        bytes.subspan(at, std::min(kInputBytes, bytes.size() - at));
    at += input.size();
    compression.Add(input, at == bytes.size(), packed);
    for (; packed.size() >= kPartBytes; packed.erase(0, kPartBytes)) {
      absl::Status written =
          AppendPart(kind, packed.substr(0, kPartBytes), page);
      if (!written.ok()) return written;
    }
    if (progress && !progress({at, bytes.size()})) {
      return absl::CancelledError("The page is not written");
    }
  } while (at < bytes.size());
  return AppendPart(kind, packed, page);
}

}  // namespace

absl::Status CheckModule(std::string_view module) {
  if (!module.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "This countrace was built without the code that answers in a page, since "
      "its compiler was missing. To build it, in the source folder: "
      "scripts/setup && cmake --preset dev && "
      "cmake --build build/dev --target countrace");
}

absl::Status WritePageFile(const TimelineIndex& index,
                           const PageFileOptions& options) {
  if (absl::Status module = CheckModule(options.module); !module.ok()) {
    return module;
  }
  const std::span<const std::byte> bytes = index.bytes();
  if (bytes.size() > options.max_index_bytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "The timeline's index is too large for a page: bytes=%d, most=%d; "
        "`countrace view` serves it, or export a part of the trace (--from, "
        "--until)",
        bytes.size(), options.max_index_bytes));
  }
  base::PendingFile page(options.path);
  if (absl::Status made = page.Create(); !made.ok()) return made;
  const Frame frame = FrameOf(index, options);
  if (absl::Status written = page.Append(frame.before); !written.ok()) {
    return written;
  }
  if (absl::Status written =
          AppendPacked("index", bytes, options.progress, page);
      !written.ok()) {
    return written;
  }
  if (!options.samples.empty()) {
    const absl::Status written =
        AppendPacked("samples",
                     std::as_bytes(std::span(options.samples.data(),
                                             options.samples.size())),
                     {}, page);
    if (!written.ok()) return written;
  }
  // Not what a file that shrank reads as.
  if (absl::Status whole = index.CheckWhole(); !whole.ok()) return whole;
  if (absl::Status written = page.Append(frame.after); !written.ok()) {
    return written;
  }
  return page.Commit();
}

}  // namespace countrace::viewer
