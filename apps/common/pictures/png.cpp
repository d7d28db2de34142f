#include "apps/common/pictures/png.hpp"

#include <zlib.h>

#include <string_view>

#include "whilst/error.hpp"

namespace whilst::command {
namespace {

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

/// Length, name, content and checksum: section 5.3 of the PNG specification.
std::string chunk(const std::string& name, const std::string& content) {
  const std::string checked = name + content;
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(content.size())) + checked + big_endian(static_cast<std::uint32_t>(sum));
}

std::string compressed(const std::string& bytes) {
  uLongf length = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(length, '\0');
  if (compress2(reinterpret_cast<Bytef*>(result.data()), &length, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), 6) != Z_OK)
    throw error("writing a picture", "zlib could not compress it", "Look whether there is memory left");
  result.resize(length);
  return result;
}

}  // namespace

std::string png_of(const image& picture) {
  const std::size_t width = 3 * static_cast<std::size_t>(picture.width);
  // Each row as its difference from the one above: filter 2.
  std::string rows;
  for (std::size_t y = 0; y < static_cast<std::size_t>(picture.height); ++y) {
    rows.push_back(2);
    for (std::size_t x = 0; x < width; ++x) {
      const int above = y > 0 ? picture.rgb[(y - 1) * width + x] : 0;
      rows.push_back(static_cast<char>(picture.rgb[y * width + x] - above));
    }
  }
  std::string header =
      big_endian(static_cast<std::uint32_t>(picture.width)) + big_endian(static_cast<std::uint32_t>(picture.height));
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, red green blue
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + chunk("IDAT", compressed(rows)) + chunk("IEND", "");
}

std::string png_as_address(std::string_view png) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "data:image/png;base64,";
  for (std::size_t i = 0; i < png.size(); i += 3) {
    const auto byte = [&](std::size_t k) { return k < png.size() ? static_cast<unsigned char>(png[k]) : 0u; };
    const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > png.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace whilst::command
