#include "whilst/matrix_market.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
// The fuzzer's target itself, to replay its corpus with the same checks.
#include "tests/fuzz/matrix_market.cpp"

namespace {

using whilst::csr_matrix;

constexpr const char* coordinate = "%%MatrixMarket matrix coordinate real general\n";
constexpr const char* symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
constexpr const char* skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";
constexpr const char* pattern = "%%MatrixMarket matrix coordinate pattern general\n";
constexpr const char* integer = "%%MatrixMarket matrix coordinate integer general\n";
constexpr const char* array = "%%MatrixMarket matrix array real general\n";

/// Entries by place, rows and columns from 0.
using places = std::map<std::pair<std::int64_t, std::int64_t>, double>;

/// What a matrix holds; checks on the way that the columns of each row rise.
template <class T>
places places_of(const csr_matrix<T>& matrix) {
  places result;
  for (whilst::index_type row = 0; row < matrix.rows(); ++row) {
    for (whilst::index_type k = matrix.row_offset(row); k < matrix.row_offset(row + 1); ++k) {
      if (k > matrix.row_offset(row)) REQUIRE(matrix.column_indices()[k - 1] < matrix.column_indices()[k]);
      result[{row, matrix.column_indices()[k]}] = matrix.values()[k];
    }
  }
  return result;
}

/// A second reader, slow and trusting, that shares nothing with the one under test.
places read_trusting(std::istream& file) {
  std::string line;
  std::getline(file, line);
  const bool array = line.find(" array ") != std::string::npos;
  const bool ones = line.find(" pattern ") != std::string::npos;
  const double sign = line.find(" skew-symmetric") != std::string::npos ? -1 : 1;
  const bool mirrored = line.find(" general") == std::string::npos;
  do std::getline(file, line);
  while (line.empty() || line[0] == '%');
  std::int64_t rows = 0, columns = 0, entries = 0;
  std::istringstream(line) >> rows >> columns >> entries;
  if (array) entries = rows * columns;
  places result;
  for (std::int64_t k = 0; k < entries; ++k) {
    std::int64_t row = k % rows + 1, column = k / rows + 1;
    double value = 1;
    if (!array) file >> row >> column;
    if (!ones) file >> value;
    result[{row - 1, column - 1}] += value;
    if (mirrored && row != column) result[{column - 1, row - 1}] += sign * value;
  }
  REQUIRE(file);
  return result;
}

places read_trusting(const std::string& text) {
  std::istringstream file(text);
  return read_trusting(file);
}

template <class Work>
std::string message_of(Work work) {
  try {
    work();
  } catch (const whilst::error& problem) {
    return problem.what();
  }
  return "no error";
}

std::string matrix_problem(const std::string& text) {
  return message_of([&] { whilst::parse_matrix<double>(text, "bad.mtx"); });
}

std::string vector_problem(const std::string& text) {
  return message_of([&] { whilst::parse_vector<double>(text, "bad.mtx"); });
}

std::string gzip(const std::string& text, int level = 9) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, Z_FINISH);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

/// A directory for one test, gone with everything in it afterwards.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "whilst-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~scratch_directory() { std::filesystem::remove_all(path_); }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y && std::signbit(x) == std::signbit(y); });
}

}  // namespace

TEST_CASE("a coordinate file becomes rows with rising columns") {
  const auto matrix =
      whilst::parse_matrix<double>(std::string(coordinate) + "2 3 4\n2 3 4\n1 3 -2.5e1\n2 1 3\n1 1 .5\n", "small.mtx");
  CHECK(matrix.rows() == 2);
  CHECK(matrix.columns() == 3);
  CHECK_FALSE(matrix.has_64bit_offsets());
  CHECK(places_of(matrix) == places{{{0, 0}, 0.5}, {{0, 2}, -25}, {{1, 0}, 3}, {{1, 2}, 4}});
}

TEST_CASE("every field and symmetry is read") {
  const auto parsed = [](const std::string& text) { return places_of(whilst::parse_matrix<double>(text, "t")); };
  CHECK(parsed(std::string(integer) + "1 2 2\n1 1 -7\n1 2 +9007199254740993\n") ==
        places{{{0, 0}, -7}, {{0, 1}, 9007199254740992.0}});
  CHECK(parsed(std::string(pattern) + "2 2 2\n1 2\n2 2\n") == places{{{0, 1}, 1}, {{1, 1}, 1}});
  CHECK(parsed(std::string(symmetric) + "2 2 2\n1 1 4\n2 1 -1\n") == places{{{0, 0}, 4}, {{0, 1}, -1}, {{1, 0}, -1}});
  CHECK(parsed(std::string(skew) + "2 2 2\n2 1 3\n1 1 0\n") == places{{{0, 0}, 0}, {{0, 1}, -3}, {{1, 0}, 3}});
  CHECK(parsed("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n") == places{{{0, 1}, 1}, {{1, 0}, 1}});
  CHECK(parsed(std::string(array) + "2 2\n1\n2\n3\n0\n") == places{{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 3}, {{1, 1}, 0}});
  CHECK(parsed("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n") ==
        places{{{0, 0}, 1}, {{1, 0}, 2}, {{0, 1}, 2}, {{1, 1}, 3}});
  CHECK(parsed("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n") ==
        places{{{0, 1}, -1}, {{0, 2}, -2}, {{1, 0}, 1}, {{1, 2}, -3}, {{2, 0}, 2}, {{2, 1}, 3}});
  CHECK(parsed("%%MatrixMarket MATRIX Coordinate Real GENERAL\n1 1 1\n1 1 2\n") == places{{{0, 0}, 2}});
  CHECK(parsed("%%matrixmarket matrix coordinate real general\n1 1 1\n1 1 2\n") == places{{{0, 0}, 2}});
  CHECK(parsed("%%MATRIXMARKET MATRIX COORDINATE DOUBLE GENERAL\n1 1 1\n1 1 2\n") == places{{{0, 0}, 2}});
  CHECK(parsed("%%MatrixMarket matrix array double general\n1 1\n2\n") == places{{{0, 0}, 2}});
  const scratch_directory directory;
  const std::string text = "%%matrixMARKET matrix array double general\n1 1\n2\n" + std::string(10000, '\n');
  CHECK(places_of(whilst::read_matrix<double>(directory.write("any-case.mtx", text))) == places{{{0, 0}, 2}});
  CHECK(places_of(whilst::read_matrix<double>(directory.write("packed.mtx", gzip(text)))) == places{{{0, 0}, 2}});
}

TEST_CASE("entries above the diagonal of a file that is not general are taken as their mirror images") {
  const auto parsed = [](const std::string& text) { return places_of(whilst::parse_matrix<double>(text, "t")); };
  CHECK(parsed(std::string(symmetric) + "2 2 2\n1 1 4\n1 2 -1\n") == places{{{0, 0}, 4}, {{0, 1}, -1}, {{1, 0}, -1}});
  CHECK(parsed(std::string(skew) + "2 2 1\n1 2 3\n") == places{{{0, 1}, 3}, {{1, 0}, -3}});
  // Some of either triangle, and one entry in two parts.
  CHECK(parsed(std::string(symmetric) + "3 3 4\n3 1 5\n1 2 1\n1 2 2\n3 3 1\n") ==
        places{{{0, 1}, 3}, {{0, 2}, 5}, {{1, 0}, 3}, {{2, 0}, 5}, {{2, 2}, 1}});
}

TEST_CASE("comments, blank lines, carriage returns, tabs and a missing last newline are accepted") {
  const std::string text =
      "%%MatrixMarket matrix coordinate real general \r\n% remark\r\n\r\n  \t\r\n 2\t2  2 \r\n%\r\n\r\n"
      "  1 1 1e0\t\r\n\r\n% 1 2 3\r\n2 2 2\r\n\r\n% end";
  CHECK(places_of(whilst::parse_matrix<double>(text, "t")) == places{{{0, 0}, 1}, {{1, 1}, 2}});
  CHECK(places_of(whilst::parse_matrix<double>(std::string(pattern) + "1 1 1\n1 1", "t")) == places{{{0, 0}, 1}});
  CHECK(places_of(whilst::parse_matrix<double>(std::string(pattern) + "1 1 1\r\n1 1\r", "t")) == places{{{0, 0}, 1}});
}

TEST_CASE("matrices without rows, columns or entries are matrices") {
  const auto none = whilst::parse_matrix<double>(std::string(coordinate) + "0 0 0\n", "t");
  CHECK(none.rows() == 0);
  CHECK(none.nonzeros() == 0);
  const auto empty = whilst::parse_matrix<double>(std::string(coordinate) + "3 2 0\n", "t");
  CHECK(empty.rows() == 3);
  CHECK(empty.row_offset(3) == 0);
  CHECK(whilst::parse_matrix<double>(std::string(array) + "3 0\n", "t").rows() == 3);
  CHECK(whilst::parse_vector<double>(std::string(array) + "0 1\n", "t").empty());
}

TEST_CASE("entries given twice are summed in the order of the file") {
  // In any other order these sums are 0 or 2.
  CHECK(places_of(whilst::parse_matrix<double>(std::string(coordinate) + "2 2 4\n2 1 1e30\n2 1 -1e30\n1 2 5\n2 1 1\n",
                                               "t")) == places{{{0, 1}, 5}, {{1, 0}, 1}});
  CHECK(whilst::parse_vector<double>(std::string(coordinate) + "2 1 3\n2 1 1e30\n2 1 -1e30\n2 1 1\n", "t") ==
        std::vector<double>{0, 1});
  CHECK(places_of(whilst::parse_matrix<double>(std::string(symmetric) + "2 2 3\n2 1 1\n1 1 3\n2 1 2\n", "t")) ==
        places{{{0, 0}, 3}, {{0, 1}, 3}, {{1, 0}, 3}});
}

TEST_CASE("random files agree with a second reader") {
  // Rows both shorter and longer than those that are sorted in place; few enough columns for many duplicates.
  const auto rows = GENERATE(1, 7, 200);
  const auto columns = GENERATE(1, 5, 200);
  const auto count = GENERATE(0, 3, 3000);
  std::mt19937_64 random(static_cast<std::uint64_t>(rows + 1000 * columns + 1000000LL * count));
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
    if (symmetry != "general" && rows != columns) continue;
    if (symmetry == "skew-symmetric" && rows == 1) continue;
    std::ostringstream text;
    text.precision(17);
    text << "%%MatrixMarket matrix coordinate real " << symmetry << "\n"
         << rows << " " << columns << " " << count << "\n";
    for (int k = 0; k < count; ++k) {
      int row = below(rows), column = below(columns);
      if (symmetry != "general" && row < column) std::swap(row, column);
      if (symmetry == "skew-symmetric" && row == column) column == 0 ? ++row : --column;
      text << row + 1 << " " << column + 1 << " " << std::normal_distribution<double>()(random) << "\n";
    }
    CAPTURE(symmetry, rows, columns, count);
    CHECK(places_of(whilst::parse_matrix<double>(text.str(), "random")) == read_trusting(text.str()));
  }
}

TEST_CASE("numbers are rounded to the type asked for") {
  const auto value = [](const std::string& number, auto type) {
    return whilst::parse_vector<decltype(type)>(std::string(array) + "1 1\n" + number + "\n", "t").at(0);
  };
  // Halfway between two floats but for the last digit: rounding by way of double would go down.
  CHECK(value("1.00000005960464477539062500000000000000001", 0.f) == 1.00000011920928955078125f);
  CHECK(value("0.1", 0.0) == 0.1);
  CHECK(value("+1.5", 0.0) == 1.5);
  CHECK(value("1e-40", 0.f) == 1e-40f);
  CHECK(value("4.9e-324", 0.0) == std::numeric_limits<double>::denorm_min());
  CHECK(value("1e-60", 0.f) == 0.f);
  CHECK(value("1e-400", 0.0) == 0.0);
  CHECK(std::signbit(value("-1e-400", 0.0)));
  CHECK_FALSE(std::signbit(value("1e-400", 0.0)));
  CHECK(value("0." + std::string(500, '0') + "1", 0.0) == 0.0);
  CHECK(value("0." + std::string(500, '0') + "1e501", 0.0) == 1.0);
  CHECK(value("1" + std::string(500, '0') + "e-500", 0.0) == 1.0);
  CHECK(value("1e-99999999999999999999", 0.0) == 0.0);
  CHECK(value("0e99999999999999999999", 0.0) == 0.0);
  CHECK(value("1.7976931348623157e308", 0.0) == std::numeric_limits<double>::max());
  // As Fortran writes them.
  CHECK(value("4.0D0", 0.0) == 4.0);
  CHECK(value("-2.5d-3", 0.0) == -2.5e-3);
  CHECK(value("+1D+02", 0.f) == 100.f);
  CHECK(std::signbit(value("-1D-400", 0.0)));
  CHECK(value("0." + std::string(500, '0') + "1D501", 0.0) == 1.0);
}

TEST_CASE("vectors come from arrays and from coordinates") {
  CHECK(whilst::parse_vector<double>(std::string(array) + "3 1\n1\n-2\n3e-1\n", "t") ==
        std::vector<double>{1, -2, 0.3});
  CHECK(whilst::parse_vector<float>("%%MatrixMarket matrix array integer general\n2 1\n1\n-2\n", "t") ==
        std::vector<float>{1, -2});
  CHECK(whilst::parse_vector<double>(std::string(coordinate) + "4 1 2\n3 1 5\n1 1 2\n", "t") ==
        std::vector<double>{2, 0, 5, 0});
  CHECK(whilst::parse_vector<double>(std::string(pattern) + "2 1 1\n2 1\n", "t") == std::vector<double>{0, 1});
  CHECK(whilst::parse_vector<double>(std::string(symmetric) + "1 1 1\n1 1 6\n", "t") == std::vector<double>{6});
  CHECK(whilst::parse_vector<double>("%%MatrixMarket matrix array real skew-symmetric\n1 1\n", "t") ==
        std::vector<double>{0});
}

TEST_CASE("the header is read without the entries") {
  const auto header = whilst::parse_matrix_market_header(
      "%%MatrixMarket matrix coordinate pattern symmetric\n% remark\n5 5 900\nnonsense\n", "t");
  CHECK(header.format == whilst::matrix_market_format::coordinate);
  CHECK(header.field == whilst::matrix_market_field::pattern);
  CHECK(header.symmetry == whilst::matrix_market_symmetry::symmetric);
  CHECK(header.rows == 5);
  CHECK(header.columns == 5);
  CHECK(header.entries == 900);

  const auto skew_array =
      whilst::parse_matrix_market_header("%%MatrixMarket matrix array integer skew-symmetric\n4 4", "t");
  CHECK(skew_array.format == whilst::matrix_market_format::array);
  CHECK(skew_array.field == whilst::matrix_market_field::integer);
  CHECK(skew_array.symmetry == whilst::matrix_market_symmetry::skew_symmetric);
  CHECK(skew_array.entries == 6);

  const scratch_directory directory;
  // Comments longer than the first bytes looked at, and then something broken that must not be looked at.
  const std::string text =
      coordinate + ("%" + std::string(200000, '-')) + "\n\n7 8 9\n1 1 x\n" + std::string(3000000, ' ');
  for (const auto& path : {directory.write("plain", text), directory.write("packed", gzip(text, 0))}) {
    CHECK(whilst::read_matrix_market_header(path).columns == 8);
    CHECK(whilst::read_matrix_market_header(path).entries == 9);
    CHECK_THROWS_AS(whilst::read_matrix<double>(path), whilst::error);
  }
  CHECK(message_of([&] { whilst::read_matrix_market_header(directory / "none"); }) ==
        "reading " + (directory / "none").string() + ": no such file. Give a Matrix Market file");
}

TEST_CASE("bad first lines are named") {
  CHECK(matrix_problem("") ==
        "bad.mtx:1:1: found an empty file, expected a first line that starts with %%MatrixMarket");
  CHECK(matrix_problem("\n") == "bad.mtx:1:1: found a blank, expected a first line that starts with %%MatrixMarket");
  CHECK(matrix_problem("1 1 1\n") == "bad.mtx:1:1: found \"1\", expected a first line that starts with %%MatrixMarket");
  CHECK(matrix_problem("%MatrixMarket matrix coordinate real general\n") ==
        "bad.mtx:1:1: found \"%MatrixMarket\", expected a first line that starts with %%MatrixMarket");
  CHECK(matrix_problem("\xEF\xBB\xBF%%MatrixMarket") ==
        "bad.mtx:1:1: found \"\\xef\\xbb\\xbf%%MatrixMarket\", expected a first line that starts with %%MatrixMarket");
  CHECK(matrix_problem("%%MatrixMarket\n") == "bad.mtx:1:15: found the end of the line, expected matrix");
  CHECK(matrix_problem("%%MatrixMarket") == "bad.mtx:1:15: found the end of the file, expected matrix");
  CHECK(matrix_problem("%%MatrixMarket vector coordinate real general\n") ==
        "bad.mtx:1:16: found \"vector\", expected matrix");
  CHECK(matrix_problem("%%MatrixMarket matrix elemental real general\n") ==
        "bad.mtx:1:23: found \"elemental\", expected coordinate or array");
  CHECK(matrix_problem("%%MatrixMarket matrix coordinate complex general\n") ==
        "bad.mtx:1:34: found \"complex\", expected real or double or integer or pattern");
  CHECK(matrix_problem("%%MatrixMarket matrix array pattern general\n") ==
        "bad.mtx:1:29: found \"pattern\", expected real or double or integer");
  CHECK(matrix_problem("%%MatrixMarket matrix coordinate real hermitian\n") ==
        "bad.mtx:1:39: found \"hermitian\", expected general or symmetric or skew-symmetric");
  CHECK(matrix_problem("%%MatrixMarket matrix coordinate pattern skew-symmetric\n") ==
        "bad.mtx:1:42: found \"skew-symmetric\", expected general or symmetric");
  CHECK(matrix_problem("%%MatrixMarket matrix coordinate real general x\n") ==
        "bad.mtx:1:47: found \"x\", expected the end of the line");
  CHECK(matrix_problem("%%MatrixMarket matrix " + std::string(50, 'c') + "\n") ==
        "bad.mtx:1:23: found \"" + std::string(40, 'c') + "...\", expected coordinate or array");
}

TEST_CASE("bad sizes are named") {
  const auto bad = [](const char* first_line, const std::string& rest) { return matrix_problem(first_line + rest); };
  CHECK(bad(coordinate, "% only a remark\n") ==
        "bad.mtx:3:1: found the end of the file, expected a number of rows from 0 to 2147483647");
  CHECK(bad(coordinate, "2 2\n") ==
        "bad.mtx:2:4: found the end of the line, expected a number of entries from 0 to 10000000000000000");
  CHECK(bad(coordinate, "\n2 -2 1\n") ==
        "bad.mtx:3:3: found \"-2\", expected a number of columns from 0 to 2147483647");
  CHECK(bad(coordinate, "2 2.0 1\n") ==
        "bad.mtx:2:3: found \"2.0\", expected a number of columns from 0 to 2147483647");
  CHECK(bad(coordinate, "3000000000 2 1\n") ==
        "bad.mtx:2:1: found \"3000000000\", expected a number of rows from 0 to 2147483647");
  CHECK(bad(coordinate, "2 2 99999999999999999999999\n") ==
        "bad.mtx:2:5: found \"99999999999999999999999\", expected a number of entries from 0 to 10000000000000000");
  CHECK(bad(coordinate, "0 2 1\n") == "bad.mtx:2:5: found \"1\", expected a number of entries from 0 to 0");
  CHECK(bad(coordinate, "2 2 1 1\n") == "bad.mtx:2:7: found \"1\", expected the end of the line");
  CHECK(bad(array, "2 2 4\n") == "bad.mtx:2:5: found \"4\", expected the end of the line");
  CHECK(bad(symmetric, "2 3 1\n") ==
        "bad.mtx:2:3: found 3 columns, expected 2, as rows, in a matrix that is not general");
  CHECK(vector_problem(std::string(array) + "1 2\n1\n2\n") ==
        "bad.mtx:2:3: found 2 columns, expected 1, as a vector has");
  CHECK(vector_problem(std::string(coordinate) + "\n2 0 0\n") ==
        "bad.mtx:3:3: found 0 columns, expected 1, as a vector has");
}

TEST_CASE("bad entries are named") {
  const auto bad = [](const char* first_line, const std::string& rest) { return matrix_problem(first_line + rest); };
  CHECK(bad(coordinate, "2 3 1\n0 1 1\n") == "bad.mtx:3:1: found \"0\", expected a row index from 1 to 2");
  CHECK(bad(coordinate, "2 3 1\n3 1 1\n") == "bad.mtx:3:1: found \"3\", expected a row index from 1 to 2");
  CHECK(bad(coordinate, "2 3 1\n-1 1 1\n") == "bad.mtx:3:1: found \"-1\", expected a row index from 1 to 2");
  CHECK(bad(coordinate, "2 3 1\n2 4 1\n") == "bad.mtx:3:3: found \"4\", expected a column index from 1 to 3");
  CHECK(bad(coordinate, "2 3 1\n1 18446744073709551617 1\n") ==
        "bad.mtx:3:3: found \"18446744073709551617\", expected a column index from 1 to 3");
  CHECK(bad(coordinate, "2 3 1\n1 1x 1\n") == "bad.mtx:3:3: found \"1x\", expected a column index from 1 to 3");
  CHECK(bad(coordinate, "2 3 1\n1\r\n") ==
        "bad.mtx:3:2: found the end of the line, expected a column index from 1 to 3");
  const std::string number = ", expected a finite number within the range of double";
  CHECK(bad(coordinate, "2 3 1\n1 1\n") == "bad.mtx:3:4: found the end of the line" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1") == "bad.mtx:3:4: found the end of the file" + number);
  CHECK(bad(coordinate, "2 3 2\n1 1 1\n1 1 nan\n") == "bad.mtx:4:5: found \"nan\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 -inf\n") == "bad.mtx:3:5: found \"-inf\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 Infinity\n") == "bad.mtx:3:5: found \"Infinity\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1e400\n") == "bad.mtx:3:5: found \"1e400\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1e99999999999999999999\n") ==
        "bad.mtx:3:5: found \"1e99999999999999999999\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1.5.2\n") == "bad.mtx:3:5: found \"1.5.2\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1,5\n") == "bad.mtx:3:5: found \"1,5\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 +-1\n") == "bad.mtx:3:5: found \"+-1\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1D400\n") == "bad.mtx:3:5: found \"1D400\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1d\n") == "bad.mtx:3:5: found \"1d\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1e2d3\n") == "bad.mtx:3:5: found \"1e2d3\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 0x10\n") == "bad.mtx:3:5: found \"0x10\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1\r1\n") == "bad.mtx:3:5: found \"1\\x0d1\"" + number);
  CHECK(bad(coordinate, "2 3 1\n1 1 1 1\n") == "bad.mtx:3:7: found \"1\", expected the end of the line");
  CHECK(bad(coordinate, "2 3 1\n1 1 1 % one\n") == "bad.mtx:3:7: found \"%\", expected the end of the line");
  CHECK(bad(pattern, "2 3 1\n1 1 1\n") == "bad.mtx:3:5: found \"1\", expected the end of the line");
  CHECK(bad(integer, "2 3 1\n1 1 1.5\n") == "bad.mtx:3:5: found \"1.5\", expected an integer of at most 64 bits");
  CHECK(bad(integer, "2 3 1\n1 1 9223372036854775808\n") ==
        "bad.mtx:3:5: found \"9223372036854775808\", expected an integer of at most 64 bits");
  CHECK(bad(array, "1 2\n1 2\n") == "bad.mtx:3:3: found \"2\", expected the end of the line");
  CHECK(bad(symmetric, "2 2 3\n1 1 1\n1 2 1\n2 1 1\n") ==
        "bad.mtx:2:1: found entries for row 2 and column 1 and for their mirror image, expected one triangle only, as "
        "the matrix is not general");
  CHECK(bad(skew, "2 2 2\n2 1 1\n1 2 -1\n").starts_with("bad.mtx:2:1: found entries for row 2 and column 1 and for"));
  CHECK(bad(skew, "2 2 1\n2 2 1\n") ==
        "bad.mtx:3:1: found an entry on the diagonal, expected none, or zero, as the matrix is skew-symmetric");
  CHECK(bad(coordinate, "%\n2 3 2\n2 1 1e308\n2 1 1e308\n") ==
        "bad.mtx:3:1: found entries for row 2 and column 1 that sum to infinity, expected a finite sum");
  CHECK(vector_problem(std::string(coordinate) + "2 1 2\n2 1 1e308\n2 1 1e308\n") ==
        "bad.mtx:2:1: found entries for row 2 that sum to infinity, expected a finite sum");
  CHECK(message_of([] { whilst::parse_vector<float>(std::string(array) + "1 1\n1e39\n", "bad.mtx"); }) ==
        "bad.mtx:3:1: found \"1e39\", expected a finite number within the range of float");
}

TEST_CASE("wrong counts are named, however large, and take no memory") {
  const auto bad = [](const char* first_line, const std::string& rest) { return matrix_problem(first_line + rest); };
  CHECK(bad(coordinate, "2 2 2\n1 1 1\n") ==
        "bad.mtx:4:1: found the end of the file after 1 entries, expected 2 entries");
  CHECK(bad(coordinate, "2 2 2\n1 1 1") ==
        "bad.mtx:3:6: found the end of the file after 1 entries, expected 2 entries");
  CHECK(bad(coordinate, "2 2 1\n1 1 1\n% more\n2 2 1\n") ==
        "bad.mtx:5:1: found \"2\" after the last of 1 entries, expected the end of the file");
  CHECK(bad(array, "2 1\n1\n2\n3\n") ==
        "bad.mtx:5:1: found \"3\" after the last of 2 entries, expected the end of the file");
  CHECK(bad(coordinate, "2000000000 2000000000 10000000000000000\n1 1 1\n") ==
        "bad.mtx:4:1: found the end of the file after 1 entries, expected 10000000000000000 entries");
  CHECK(bad(array, "2000000000 2000000000\n") ==
        "bad.mtx:3:1: found the end of the file after 0 entries, expected 4000000000000000000 entries");
  CHECK(vector_problem(std::string(array) + "2000000000 1\n1\n") ==
        "bad.mtx:4:1: found the end of the file after 1 entries, expected 2000000000 entries");
  CHECK(bad(coordinate, "2000000000 1 1\n1 1 1\n").find(":2:1: found 2000000000 rows in a file of ") !=
        std::string::npos);
  CHECK(vector_problem(std::string(coordinate) + "2000000000 1 1\n1 1 1\n").find(":2:1: found 2000000000 rows") !=
        std::string::npos);
  CHECK(bad(array, "2000000000 0\n").find(":2:1: found 2000000000 rows") != std::string::npos);
}

TEST_CASE("empty rows that a header alone declares are few, unless there is text for them") {
  CHECK(matrix_problem(std::string(coordinate) + "67000000 67000000 0\n") ==
        "bad.mtx:2:1: found 67000000 rows in a file of 66 bytes, expected at most 1048576 rows, or one for each byte");
  CHECK(whilst::parse_matrix<double>(std::string(coordinate) + "1048576 1048576 0\n", "t").rows() == 1048576);
  const std::string comment = "%" + std::string(1048577, '-') + "\n";
  CHECK(whilst::parse_matrix<double>(coordinate + comment + "1048577 1 0\n", "t").rows() == 1048577);
  // A load on one of many points.
  CHECK(whilst::parse_vector<float>(std::string(coordinate) + "16777216 1 1\n5 1 3\n", "t").size() == 16777216);
  CHECK(vector_problem(std::string(coordinate) + "16777217 1 1\n5 1 3\n").find("found 16777217 rows in a file of") !=
        std::string::npos);
}

TEST_CASE("every cut of a file is an error or a shorter last number, never anything else") {
  const std::string text = std::string(symmetric) + "% remark\n3 3 4\n1 1 4\n2 1 -1\n3 2 -1.25\n3 3 4.125\n";
  const places whole = read_trusting(text);
  const std::size_t last_number = text.rfind(' ') + 1;
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    if (size <= last_number) {
      CHECK(matrix_problem(text.substr(0, size)).starts_with("bad.mtx:"));
    } else {
      CHECK(places_of(whilst::parse_matrix<double>(text.substr(0, size), "t")).size() == whole.size());
    }
  }
}

TEST_CASE("gzip is recognised by content") {
  const scratch_directory directory;
  const std::string text = std::string(symmetric) + "2 2 2\n1 1 4\n2 1 -1\n";
  const std::string packed = gzip(text);
  const places expected = read_trusting(text);
  CHECK(places_of(whilst::read_matrix<double>(directory.write("packed.mtx", packed))) == expected);
  CHECK(places_of(whilst::read_matrix<double>(directory.write("plain.mtx.gz", text))) == expected);
  CHECK(places_of(whilst::parse_matrix<double>(packed, "t")) == expected);
  CHECK(whilst::read_matrix_market_header(directory / "packed.mtx").entries == 2);
  CHECK(whilst::parse_matrix_market_header(packed, "t").entries == 2);
  // Members one after another, as `cat a.gz b.gz` makes them, and text that needs the buffer to grow.
  CHECK(places_of(whilst::parse_matrix<double>(gzip(text.substr(0, 60)) + gzip(text.substr(60)), "t")) == expected);
  CHECK(places_of(whilst::parse_matrix<double>(gzip(text + std::string(5000000, '\n')), "t")) == expected);
}

TEST_CASE("broken gzip is named, with the place in its text") {
  const std::string text = std::string(array) + "2 1\n1\n2\n";
  const std::string packed = gzip(text, 0);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    CAPTURE(size);
    CHECK(matrix_problem(packed.substr(0, size)).find("expected an intact gzip file") != std::string::npos);
  }
  CHECK(matrix_problem(packed.substr(0, packed.size() - 1)) ==
        "bad.mtx:5:1: found the end of the file within its gzip data, expected an intact gzip file");
  CHECK(matrix_problem(packed + "xyz") ==
        "bad.mtx:5:1: found 3 bytes after the end of the gzip data, expected the end of the file");
  std::string wrong_checksum = packed;
  wrong_checksum[packed.size() - 8] = static_cast<char>(wrong_checksum[packed.size() - 8] ^ 1);
  CHECK(matrix_problem(wrong_checksum) ==
        "bad.mtx:5:1: found broken gzip data (incorrect data check), expected an intact gzip file");
  CHECK(matrix_problem("\x1f\x8b\x08zzzzzzzzzzzzzzzz").starts_with("bad.mtx:1:1: found broken gzip data ("));
  // What is wrong in the text of an intact file is named as in a plain one.
  CHECK(matrix_problem(gzip(std::string(array) + "2 1\n1\nx\n")) ==
        "bad.mtx:4:1: found \"x\", expected a finite number within the range of double");
}

TEST_CASE("gzip of something else is refused by its first bytes") {
  // 1 GiB of zeros would be 1 MiB of gzip, and its text stopped after 100 MiB; of these, too, none is made.
  const std::string packed = gzip(std::string(100000000, '\0'), 1);
  CHECK(matrix_problem(packed).starts_with("bad.mtx:1:1: found \"\\x00\\x00"));
  CHECK(matrix_problem(packed).find("expected a first line that starts with %%MatrixMarket") != std::string::npos);
}

TEST_CASE("a gzip bomb is stopped at a limit that the message names") {
  const std::string bomb = gzip(std::string(array) + std::string((std::size_t{64} << 20) + 1, '\n'));
  const std::string problem = matrix_problem(bomb);
  CHECK(problem.starts_with("bad.mtx:"));
  CHECK(problem.find("found more than 67108864 bytes of text in a gzip file of " + std::to_string(bomb.size())) !=
        std::string::npos);
  CHECK(problem.find("expected at most 64 MiB, or 100 times the file") != std::string::npos);
}

TEST_CASE("files that are none are named") {
  const scratch_directory directory;
  const auto problem = [](const std::filesystem::path& path) {
    const std::string message = message_of([&] { whilst::read_vector<double>(path); });
    CHECK(message_of([&] { whilst::read_matrix<double>(path); }) == message);
    return message;
  };
  // Of the whole file: a sentence, and no place in it.
  const auto whole = [&](const std::filesystem::path& path, const std::string& found) {
    CHECK(problem(path) == "reading " + path.string() + ": " + found + ". Give a Matrix Market file");
  };
  whole(directory / "none.mtx", "no such file");
  whole(directory / "no/such/directory", "no such file");
  whole(directory / ".", "this is a directory");
  whole("/dev/null", "this is a device or a socket");
  CHECK(problem(directory.write("empty.mtx", "")) ==
        (directory / "empty.mtx").string() +
            ":1:1: found an empty file, expected a first line that starts with %%MatrixMarket");
  CHECK(problem(directory.write("bad.mtx", std::string(array) + "1 1\nx\n")) ==
        (directory / "bad.mtx").string() + ":3:1: found \"x\", expected a finite number within the range of double");
  if (getuid() != 0) {
    const auto closed = directory.write("closed.mtx", array);
    std::filesystem::permissions(closed, std::filesystem::perms::none);
    CHECK(problem(closed).find(": it does not open (") != std::string::npos);
  }
}

TEST_CASE("control characters in a file's name reach no terminal") {
  const std::string shown = "a\\x1b[31mred\\x0a\\x7f\\xc2\\x9b\\xff \u00e9\u20ac.mtx";
  const std::string name = "a\033[31mred\n\177\302\233\xff \u00e9\u20ac.mtx";
  CHECK(message_of([&] { whilst::read_matrix<double>(name); }) ==
        "reading " + shown + ": no such file. Give a Matrix Market file");
  CHECK(message_of([&] { whilst::parse_matrix<double>("", name); }).starts_with(shown + ":1:1: found an empty file"));
  CHECK(message_of([&] { whilst::write_vector("no\a/x.mtx", std::vector<double>{1}); }).find("no\\x07/x.mtx") !=
        std::string::npos);
}

TEST_CASE("a pipe is read to its end") {
  const scratch_directory directory;
  const std::string path = (directory / "pipe").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const std::size_t n = 100000;
  std::thread writer([&] {
    std::ofstream pipe(path);
    pipe << array << n << " 1\n";
    for (std::size_t k = 0; k < n; ++k) pipe << k << "\n";
  });
  const auto vector = whilst::read_vector<double>(path);
  writer.join();
  REQUIRE(vector.size() == n);
  CHECK(vector[12345] == 12345);
}

TEST_CASE("what is written reads back to the same bits") {
  const scratch_directory directory;
  // All exponents and signs, subnormal numbers and zeros included.
  std::mt19937_64 random(7);
  std::vector<double> values{0.0, -0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()};
  while (values.size() < 20000) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  whilst::write_vector(directory / "x.mtx", values);
  CHECK(same_bits(whilst::read_vector<double>(directory / "x.mtx"), values));

  std::vector<float> floats{-0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()};
  while (floats.size() < 20000) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) floats.push_back(value);
  }
  whilst::write_vector(directory / "x.mtx", floats);
  CHECK(same_bits(whilst::read_vector<float>(directory / "x.mtx"), floats));

  const csr_matrix<double> matrix(3, 4, std::vector<std::int64_t>{0, 2, 2, 3}, std::vector<std::int32_t>{3, 0, 2},
                                  std::vector<double>{0.1, -2, 1e-300});
  whilst::write_matrix(directory / "a.mtx", matrix);
  const auto again = whilst::read_matrix<double>(directory / "a.mtx");
  CHECK(again.rows() == 3);
  CHECK(again.columns() == 4);
  CHECK(places_of(again) == places{{{0, 0}, -2}, {{0, 3}, 0.1}, {{2, 2}, 1e-300}});
  std::ifstream file(directory / "a.mtx");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == std::string(coordinate) + "3 4 3\n1 4 0.1\n1 1 -2\n3 3 1e-300\n");
  CHECK(directory.files() == 2);
}

TEST_CASE("a write that fails leaves the file as it was, and nothing beside it") {
  const scratch_directory directory;
  const auto path = directory.write("x.mtx", "precious");
  const auto contents = [&] {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  // Far enough into the file for its beginning to have been written out.
  std::vector<double> values(100000, 1.25);
  values.back() = std::numeric_limits<double>::infinity();
  CHECK(message_of([&] { whilst::write_vector(path, values); }) ==
        "writing " + path.string() +
            ": the value in row 99999 and column 0 (from 0) is NaN or infinite, which the "
            "format cannot say. Write finite values");
  CHECK(contents() == "precious");
  CHECK(directory.files() == 1);

  const std::vector<double> one{1};
  CHECK_THROWS_AS(whilst::write_vector(directory / "no/such/x.mtx", one), whilst::error);
  CHECK_THROWS_AS(whilst::write_vector(directory / ".", one), whilst::error);
  CHECK(directory.files() == 1);

  const auto on_device =
      csr_matrix<double>::on_device(1, 1, 0, reinterpret_cast<const std::int32_t*>(16), nullptr, nullptr);
  CHECK_THROWS_AS(whilst::write_matrix(path, on_device), whilst::error);
  CHECK(contents() == "precious");

  std::filesystem::create_symlink(path, directory / "link.mtx");
  whilst::write_vector(directory / "link.mtx", one);
  CHECK(contents() == std::string(array) + "1 1\n1\n");
  CHECK(std::filesystem::is_symlink(directory / "link.mtx"));
  CHECK(directory.files() == 2);

  // ".." after a link to a folder is that folder's own.
  std::filesystem::create_directories(directory / "deep" / "folder");
  std::filesystem::create_directory_symlink(directory / "deep" / "folder", directory / "near");
  std::filesystem::create_symlink("../y.mtx", directory / "deep" / "folder" / "y-link.mtx");
  whilst::write_vector(directory / "near" / ".." / "x.mtx", one);
  whilst::write_vector(directory / "near" / "y-link.mtx", one);
  CHECK(std::filesystem::is_regular_file(directory / "deep" / "x.mtx"));
  CHECK(std::filesystem::is_regular_file(directory / "deep" / "y.mtx"));
}

TEST_CASE("a file that is replaced keeps its mode, and a new one has that of the umask") {
  using std::filesystem::perms;
  const scratch_directory directory;
  const std::vector<double> one{1};
  const auto mode = [&](const char* name) { return std::filesystem::status(directory / name).permissions(); };
  for (const perms given : {perms(0600), perms(0640), perms(0666)}) {
    std::filesystem::permissions(directory.write("x.mtx", "former"), given);
    whilst::write_vector(directory / "x.mtx", one);
    CHECK(mode("x.mtx") == given);
  }
  const mode_t former = umask(027);
  whilst::write_vector(directory / "new.mtx", one);
  umask(former);
  CHECK(mode("new.mtx") == perms(0640));
  CHECK(directory.files() == 2);
}

TEST_CASE("devices and pipes are written to as they are, and links in a circle refused") {
  const scratch_directory directory;
  const std::vector<double> one{1};
  whilst::write_vector("/dev/null", one);
  CHECK(std::filesystem::is_character_file("/dev/null"));

  const std::string path = (directory / "pipe").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::string read;
  std::thread reader([&] {
    std::ifstream pipe(path);
    read = {std::istreambuf_iterator<char>(pipe), {}};
  });
  whilst::write_vector(path, one);
  reader.join();
  CHECK(read == std::string(array) + "1 1\n1\n");

  // What this process has open is written where it stands, and not replaced.
  const int descriptor = open((directory / "log").c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(write(descriptor, "before\n", 7) == 7);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(descriptor), directory / "link");
  whilst::write_vector(directory / "link", one);
  REQUIRE(write(descriptor, "after\n", 6) == 6);
  close(descriptor);
  std::ifstream log(directory / "log");
  CHECK(std::string(std::istreambuf_iterator<char>(log), {}) == "before\n" + std::string(array) + "1 1\n1\nafter\n");

  std::filesystem::create_symlink("b", directory / "a");
  std::filesystem::create_symlink("a", directory / "b");
  CHECK(message_of([&] { whilst::write_vector(directory / "a", one); }).find("circle") != std::string::npos);
  CHECK(directory.files() == 5);
}

TEST_CASE("files of the reference collection agree with a second reader") {
  const char* const data = std::getenv("WHILST_DATA_DIR");
  if (data == nullptr) {
    WARN("skipped: set WHILST_DATA_DIR to a directory of Matrix Market files");
    return;
  }
  const scratch_directory directory;
  int files = 0;
  for (const auto& found : std::filesystem::recursive_directory_iterator(data)) {
    if (found.path().extension() != ".mtx") continue;
    CAPTURE(found.path().string());
    ++files;
    std::ifstream file(found.path());
    const places expected = read_trusting(file);
    const auto matrix = whilst::read_matrix<double>(found.path());
    CHECK(places_of(matrix) == expected);
    const auto header = whilst::read_matrix_market_header(found.path());
    CHECK(header.rows == matrix.rows());
    CHECK(header.columns == matrix.columns());
    CHECK((header.symmetry != whilst::matrix_market_symmetry::general || header.entries == matrix.nonzeros()));
    whilst::write_matrix(directory / "copy.mtx", matrix);
    CHECK(places_of(whilst::read_matrix<double>(directory / "copy.mtx")) == expected);
  }
  CHECK(files > 0);
}

TEST_CASE("the fuzzer's corpus is read or refused") {
  const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
  const auto corpus = here.parent_path() / "fuzz" / "corpus";
  if (!std::filesystem::is_directory(corpus)) {
    WARN("skipped: no directory " << corpus.string());
    return;
  }
  int files = 0;
  for (const auto& found : std::filesystem::directory_iterator(corpus)) {
    CAPTURE(found.path().string());
    std::ifstream file(found.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) == 0);
    ++files;
  }
  CHECK(files > 10);
}
