// The exported page: what it holds is the index, and it names no other file.
#include "viewer/offline/page_file.h"

#include <sys/stat.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "rmap/samples/names/named_samples.h"
#include "tests/viewer/index_fixture.h"
#include "viewer/offline/page_samples.h"
#include "viewer/offline/stored_functions.h"

namespace countrace::viewer {
namespace {

// A page holds it as it is.
constexpr std::string_view kModule("\0asm, compressed", 16);

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The texts between `begin` and the next "</script>".
std::vector<std::string> Elements(std::string_view page,
                                  std::string_view begin) {
  std::vector<std::string> texts;
  for (std::size_t at = page.find(begin); at != page.npos;
       at = page.find(begin, at + 1)) {
    const std::size_t text = page.find('>', at) + 1;
    texts.emplace_back(page.substr(text, page.find("</script>", text) - text));
  }
  return texts;
}

std::string Decoded(const std::string& base64) {
  std::string bytes;
  REQUIRE(absl::Base64Unescape(base64, &bytes));
  return bytes;
}

std::string Unpacked(std::string packed, std::size_t bytes) {
  std::string out(bytes + 1, '\0');
  z_stream stream = {};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::size_t FilesIn(const std::string& directory) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST_CASE("a page file holds the index, whole, and names no other file",
          "[page_file]") {
  // More than one part: some MiB that do not compress well.
  const BuiltIndex built =
      BuildSyntheticIndex({.seed = 5, .dispatches = 150'000});
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/page.html";
  constexpr char kNotes[] = R"([{"at":1,"text":"</script>"}])";
  REQUIRE(WritePageFile(*built.index,
                        {.path = path, .module = kModule, .notes = kNotes})
              .ok());
  CHECK(FilesIn(directory.path()) == 1);
  const std::string page = TextOf(path);

  const std::vector<std::string> parts = Elements(page, "class=\"index-part\"");
  CHECK(parts.size() > 1);
  std::string packed;
  for (const std::string& part : parts) packed += Decoded(part);
  const std::string_view bytes(
      reinterpret_cast<const char*>(built.index->bytes().data()),
      built.index->bytes().size());
  CHECK(Unpacked(packed, bytes.size()) == bytes);
  CHECK(page.find("data-index-bytes=\"" + std::to_string(bytes.size()) +
                  "\"") != page.npos);

  // Scripts are whole: no text ends one early, and there are no others.
  CHECK(Elements(page, "<script ").size() == parts.size() + 4);
  const auto notes = Elements(page, "id=\"notes\"");
  REQUIRE(notes.size() == 1);
  CHECK(Decoded(notes[0]) == kNotes);
  const auto module = Elements(page, "id=\"index-module\"");
  REQUIRE(module.size() == 1);
  CHECK(Decoded(module[0]) == kModule);
  CHECK(page.ends_with("</html>\n"));
  CHECK(page.find("default-src 'none'") < page.find("<script"));
  for (const char* const link : {"src=\"", "href=\"/", "url(\"http"}) {
    CHECK(page.find(link) == page.npos);
  }
}

TEST_CASE("a page file holds the samples beside the index", "[page_file]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 5, .dispatches = 100});
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/page.html";
  const std::string samples = "samples, with a \0" + std::string(5000, 'x');
  REQUIRE(WritePageFile(*built.index,
                        {.path = path, .module = kModule, .samples = samples})
              .ok());
  const std::string page = TextOf(path);
  const auto parts = Elements(page, "class=\"samples-part\"");
  REQUIRE(parts.size() == 1);
  CHECK(Unpacked(Decoded(parts[0]), samples.size()) == samples);
  CHECK(page.find("data-samples-bytes=\"" + std::to_string(samples.size()) +
                  "\"") != page.npos);
  CHECK(Elements(page, "class=\"index-part\"").size() == 1);
}

TEST_CASE("a page without samples says why", "[page_file]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 5, .dispatches = 100});
  const std::string bytes = RefusedSamples(5'000'001, 5'000'000);
  const auto named = rmap::DecodeNamedSamples(
      std::as_bytes(std::span(bytes.data(), bytes.size())));
  REQUIRE(named.ok());
  HttpRequest request;
  request.target = "/api/v1/functions";
  ApiQuery query(request);
  const HttpResponse refused =
      AnswerStoredFunctions(*built.index, *named, query);
  CHECK(refused.status == 501);
  CHECK(refused.body.find("samples=5000001, most=5000000") !=
        std::string::npos);
  // A trace without samples has an answer.
  rmap::NamedSamples none = *named;
  none.refusal.clear();
  const HttpResponse empty = AnswerStoredFunctions(*built.index, none, query);
  CHECK(empty.status == 200);
  CHECK(empty.body.find("\"sampled\":false") != std::string::npos);
}

TEST_CASE("an index that is too large, and Ctrl-C, leave no file",
          "[page_file]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 6, .dispatches = 100});
  const TemporaryDirectory directory;
  PageFileOptions options{.path = directory.path() + "/page.html",
                          .module = kModule};
  const std::uint64_t bytes = built.index->bytes().size();
  options.max_index_bytes = bytes - 1;
  const absl::Status large = WritePageFile(*built.index, options);
  CHECK(large.code() == absl::StatusCode::kResourceExhausted);
  const std::string message(large.message());
  CHECK(message.find(std::to_string(bytes)) != message.npos);
  CHECK(message.find("`countrace view` serves it") != message.npos);
  options.max_index_bytes = bytes;
  options.progress = [](const logformat::Progress&) { return false; };
  CHECK(absl::IsCancelled(WritePageFile(*built.index, options)));
  CHECK(FilesIn(directory.path()) == 0);
  options.progress = nullptr;
  CHECK(WritePageFile(*built.index, options).ok());
  options.path = directory.path() + "/missing/page.html";
  CHECK(!WritePageFile(*built.index, options).ok());
}

TEST_CASE("without the module there is no page, and the command that builds it",
          "[page_file]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 6, .dispatches = 100});
  const TemporaryDirectory directory;
  const absl::Status status = WritePageFile(
      *built.index, {.path = directory.path() + "/page.html", .module = {}});
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("scripts/setup && cmake --preset dev") !=
        status.message().npos);
  CHECK(FilesIn(directory.path()) == 0);
}

TEST_CASE("a page does not replace what is no file", "[page_file]") {
  const BuiltIndex built = BuildSyntheticIndex({.seed = 6, .dispatches = 100});
  const TemporaryDirectory directory;
  const PageFileOptions options{.path = directory.path() + "/pipe",
                                .module = kModule};
  REQUIRE(mkfifo(options.path.c_str(), 0600) == 0);
  const absl::Status status = WritePageFile(*built.index, options);
  CHECK(absl::IsInvalidArgument(status));
  struct stat still;
  REQUIRE(lstat(options.path.c_str(), &still) == 0);
  CHECK(S_ISFIFO(still.st_mode));
}

}  // namespace
}  // namespace countrace::viewer
