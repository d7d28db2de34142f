#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "whilst/matrix_market.hpp"

namespace whilst {

namespace {

/// A file that appears under its name once it is complete, and not at all otherwise.
class new_file {
 public:
  explicit new_file(const std::filesystem::path& path) : doing_("writing " + path.string()) {
    std::error_code problem;
    // What a symbolic link points to is replaced, not the link.
    target_ = std::filesystem::weakly_canonical(path, problem);
    if (problem) target_ = path;
    const auto status = std::filesystem::status(target_, problem);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      throw error(doing_, "it exists and is not a regular file", "Give the name of a file");
    }
    static std::atomic<unsigned> count{0};
    temporary_ = target_;
    temporary_ += "." + std::to_string(getpid()) + "-" + std::to_string(count++) + ".part";
    file_ = std::fopen(temporary_.c_str(), "wbx");
    if (file_ == nullptr) refuse(errno);
  }
  new_file(const new_file&) = delete;
  new_file& operator=(const new_file&) = delete;
  ~new_file() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
  }

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
  template <class T>
  void add_value(T value, index_type row, index_type column) {
    if (!std::isfinite(value)) {
      throw error(doing_,
                  "the value in row " + std::to_string(row) + " and column " + std::to_string(column) +
                      " (from 0) is NaN or infinite, which the format cannot say",
                  "Write finite values");
    }
    add_number(value);
  }

  void finish() {
    flush();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) refuse(errno);
    std::error_code problem;
    std::filesystem::rename(temporary_, target_, problem);
    if (problem) refuse(problem.value());
    temporary_.clear();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) refuse(errno);
    buffer_.clear();
  }
  [[noreturn]] void refuse(int problem) const {
    throw error(doing_, std::generic_category().message(problem), "Choose a directory that can be written to");
  }

  std::string doing_;
  std::filesystem::path target_, temporary_;
  std::FILE* file_ = nullptr;
  std::string buffer_;
};

}  // namespace

template <class T>
void write_matrix(const std::filesystem::path& path, const csr_matrix<T>& matrix) {
  const auto columns = matrix.column_indices();
  const auto values = matrix.values();
  new_file file(path);
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
      file.add_value(values[k], row, columns[k]);
      file.add("\n");
    }
  }
  file.finish();
}

template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector) {
  new_file file(path);
  file.add("%%MatrixMarket matrix array real general\n");
  file.add_number(vector.size());
  file.add(" 1\n");
  for (std::size_t row = 0; row < vector.size(); ++row) {
    file.add_value(vector[row], static_cast<index_type>(row), 0);
    file.add("\n");
  }
  file.finish();
}

template void write_matrix(const std::filesystem::path&, const csr_matrix<float>&);
template void write_matrix(const std::filesystem::path&, const csr_matrix<double>&);
template void write_vector(const std::filesystem::path&, std::span<const float>);
template void write_vector(const std::filesystem::path&, std::span<const double>);

}  // namespace whilst
