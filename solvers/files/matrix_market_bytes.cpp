#include "solvers/files/matrix_market_bytes.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>

#include "solvers/files/matrix_market_scanner.hpp"
#include "solvers/files/text_file.hpp"

namespace whilst::detail::matrix_market {

namespace {

constexpr std::size_t text_of_any_gzip = std::size_t{64} << 20;
constexpr std::size_t text_per_gzip_byte = 100;

std::string last_problem() { return std::generic_category().message(errno); }

}  // namespace

bool starts_with_banner(std::string_view text) {
  return std::ranges::equal(text.substr(0, banner.size()), banner, {}, lower_case, lower_case);
}

std::string read_bytes(std::FILE* file, std::string_view name, std::size_t limit, std::size_t expected) {
  // Buffering would only add a copy.
  std::setvbuf(file, nullptr, _IONBF, 0);
  // The first bytes identify a file of another kind, however large, and suffice to refuse it.
  std::string bytes(std::min<std::size_t>(limit, 4096), '\0');
  std::size_t size = std::fread(bytes.data(), 1, bytes.size(), file);
  const bool promising = is_gzip(bytes) || starts_with_banner(bytes);
  while (promising && size == bytes.size() && size < limit) {
    // One byte more than expected, so that a short count means end of file.
    const std::size_t rest = std::min(expected, limit - 1) + 1;
    bytes.resize(std::max(rest, std::min(limit, 2 * size)));
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, file);
  }
  if (std::ferror(file) != 0) fail(name, "it cannot be read to its end (" + last_problem() + ")", "one that can be");
  bytes.resize(size);
  return bytes;
}

std::string read_bytes(const std::filesystem::path& path, std::size_t limit) {
  const std::string name = path.string();
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) fail(name, "no such file", "a Matrix Market file");
  if (std::filesystem::is_directory(status)) fail(name, "this is a directory", "a Matrix Market file");
  const bool regular = std::filesystem::is_regular_file(status);
  if (!regular && !std::filesystem::is_fifo(status)) fail(name, "this is a device or a socket", "a Matrix Market file");

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) fail(name, "it does not open (" + last_problem() + ")", "one that can be read");
  std::uintmax_t expected = regular ? std::filesystem::file_size(path, problem) : 0;
  if (problem) expected = 0;
  return read_bytes(file.get(), name, limit, expected);
}

std::string gunzip(std::string_view bytes, std::string_view name, extent given) {
  constexpr std::size_t chunk = std::size_t{1} << 30;
  const std::size_t limit = std::max(text_of_any_gzip, bytes.size() * text_per_gzip_byte);
  z_stream stream{};
  // 15 window bits, plus 16 for "gzip only".
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::string text;
  std::size_t used = 0, size = 0;
  for (;;) {
    if (size == text.size()) text.resize(std::min(limit + 1, std::max(4 * bytes.size(), 2 * size) + 4096));
    const std::size_t offered = std::min(bytes.size() - used, chunk);
    const std::size_t room = std::min(text.size() - size, chunk);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + used));
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream, Z_NO_FLUSH);
    used += offered - stream.avail_in;
    size += room - stream.avail_out;
    if (size >= banner.size() && !starts_with_banner(std::string_view(text).substr(0, size))) break;
    const auto fail_here = [&](const std::string& found, const std::string& expected) {
      fail(name, std::string_view(text).substr(0, size), size, found, expected);
    };
    if (size > limit) {
      fail_here("more than " + std::to_string(limit) + " bytes of text in a gzip file of " +
                    std::to_string(bytes.size()) + " bytes",
                "at most 64 MiB, or 100 times the file; decompress the file first if it is to be trusted");
    }
    if (status == Z_STREAM_END) {
      if (used == bytes.size()) break;
      if (!is_gzip(bytes.substr(used))) {
        fail_here(std::to_string(bytes.size() - used) + " bytes after the end of the gzip data", "the end of the file");
      }
      inflateReset(&stream);
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_here(std::string("broken gzip data (") + (stream.msg != nullptr ? stream.msg : "preset dictionary") + ")",
                "an intact gzip file");
    } else if (used == bytes.size() && stream.avail_out != 0) {
      if (given == extent::beginning) break;
      fail_here("the end of the file within its gzip data", "an intact gzip file");
    }
  }
  text.resize(size);
  return text;
}

}  // namespace whilst::detail::matrix_market
