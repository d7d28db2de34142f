#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "solvers/files/text_file.hpp"
#include "solvers/files/written_file.hpp"
#include "whilst/files/matrix_market.hpp"

namespace whilst {

namespace {

std::string doing(const std::filesystem::path& path) { return "writing " + detail::printable(path.string()); }

/// Collects pieces of text and passes them on in large chunks.
class text_writer {
 public:
  explicit text_writer(const detail::write_target& target) : file_(target) {}

  void add(std::string_view text) {
    constexpr std::size_t enough = std::size_t{1} << 18;
    buffer_ += text;
    if (buffer_.size() >= enough) flush();
  }
  template <class Number>
  void add_number(Number number) {
    // Longer than the shortest form of any double or 64-bit integer.
    std::array<char, 32> digits;
    const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  void finish() {
    flush();
    file_.finish();
  }

 private:
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  detail::written_file file_;
  std::string buffer_;
};

/// Checks every value before the first byte is written: a stream cannot take one back.
template <class T>
void require_finite(const std::filesystem::path& path, T value, index_type row, index_type column) {
  if (std::isfinite(value)) return;
  throw error(doing(path),
              "the value in row " + std::to_string(row) + " and column " + std::to_string(column) +
                  " (from 0) is NaN or infinite, which the format cannot say",
              "Write finite values");
}

}  // namespace

template <class T>
void write_matrix(const std::filesystem::path& path, const csr_matrix<T>& matrix) {
  const auto columns = matrix.column_indices();
  const auto values = matrix.values();
  for (index_type row = 0; row < matrix.rows(); ++row) {
    const index_type last = matrix.row_offset(row + 1);
    for (index_type k = matrix.row_offset(row); k < last; ++k) require_finite(path, values[k], row, columns[k]);
  }
  const detail::write_target target(path, doing(path));
  text_writer file(target);
  file.add("%%MatrixMarket matrix coordinate real general\n");
  file.add_number(matrix.rows());
  file.add(" ");
  file.add_number(matrix.columns());
  file.add(" ");
  file.add_number(matrix.nonzeros());
  file.add("\n");
  for (index_type row = 0; row < matrix.rows(); ++row) {
    const index_type last = matrix.row_offset(row + 1);
    for (index_type k = matrix.row_offset(row); k < last; ++k) {
      file.add_number(row + 1);
      file.add(" ");
      file.add_number(index_type{columns[k]} + 1);
      file.add(" ");
      file.add_number(values[k]);
      file.add("\n");
    }
  }
  file.finish();
}

template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector) {
  for (std::size_t row = 0; row < vector.size(); ++row)
    require_finite(path, vector[row], static_cast<index_type>(row), 0);
  const detail::write_target target(path, doing(path));
  text_writer file(target);
  file.add("%%MatrixMarket matrix array real general\n");
  file.add_number(vector.size());
  file.add(" 1\n");
  for (const T value : vector) {
    file.add_number(value);
    file.add("\n");
  }
  file.finish();
}

template void write_matrix(const std::filesystem::path&, const csr_matrix<float>&);
template void write_matrix(const std::filesystem::path&, const csr_matrix<double>&);
template void write_vector(const std::filesystem::path&, std::span<const float>);
template void write_vector(const std::filesystem::path&, std::span<const double>);

}  // namespace whilst
