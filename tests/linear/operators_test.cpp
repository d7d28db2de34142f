// compiled by nvcc where CUDA is on
#define EIGEN_NO_CUDA  // Eigen is an oracle on the host; nvcc warns about its annotations for devices

#include "whilst/linear/operators.hpp"

#include <limits>

#include "tests/catch.hpp"
#include "tests/engine/toy.hpp"
#include "tests/linear/systems.hpp"

namespace whilst_test {

namespace {

/// y = A x, in one call or with the reads that need no x ahead of it.
template <class T, class Operator>
struct multiply {
  Operator A;
  const T* x;
  T* y;
  WHILST_HD int lanes_wanted() const { return A.lanes_wanted(); }
  template <class Team>
  WHILST_HD void operator()(index_type i, const Team& team) const {
    const T whole = A.row(i, x, team);
    const T in_two = whilst::row_times(whilst::fetch_row(A, i, team), A, i, x, team);
    // Every lane has the result, whichever way it was taken.
    if (team.rank() == team.size() - 1) y[i] = whole;
    if (team.rank() == 0 && in_two != whole) y[A.rows()] += 1;
  }
};

/// A x for an operator whose memory is on w's place; one more entry, which must be 0.
template <class T, class Operator>
std::vector<T> product(const way& w, const Operator& A, const whilst::buffer<T>& x) {
  whilst::buffer<T> y(w.where, A.rows() + 1);
  whilst::program_recorder record(w.where);
  record.step("y = A x", A.rows(), multiply<T, Operator>{A, x.data(), y.data()});
  whilst::program program = std::move(record).finish();
  program.prepare({.how = w.how});
  run(program);
  return values(y);
}

template <class T>
whilst::buffer<T> on_place(whilst::place where, const std::vector<T>& v) {
  whilst::buffer<T> made(where, static_cast<index_type>(v.size()));
  made.upload(v.data());
  return made;
}

/// Small integers: their sums are exact in any order, so a plain loop is an oracle to the bit.
template <class T>
std::vector<T> integers(index_type n, int seed) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(static_cast<int>((i * 7 + 3 * seed) % 17) - 8);
  return v;
}

/// Rows of every length that is a special case somewhere, over and over; each row names some columns twice.
template <class T, class Offset>
struct uneven_rows {
  std::vector<Offset> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<T> entries;
  index_type n;

  explicit uneven_rows(index_type rows) : n(rows) {
    const int lengths[] = {0, 1, 7, 8, 9, 300, 2, 31, 32, 33, 64, 256, 257, 0};
    for (index_type i = 0; i < n; ++i) {
      const int length = lengths[i % 14];
      // Column 0 is nobody's.
      for (int k = 0; k < length; ++k) columns.push_back(static_cast<std::int32_t>(1 + (i + (k / 2) * 5) % (n - 1)));
      offsets.push_back(static_cast<Offset>(columns.size()));
    }
    entries = integers<T>(static_cast<index_type>(columns.size()), 1);
  }
  std::vector<T> times(const std::vector<T>& x) const {
    std::vector<T> y(static_cast<std::size_t>(n) + 1, 0);
    for (std::size_t i = 0; i + 1 < y.size(); ++i)
      for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k)
        y[i] += entries[k] * x[static_cast<std::size_t>(columns[k])];
    return y;
  }
};

template <class T, class Offset>
void check_csr() {
  const uneven_rows<T, Offset> A(700);
  std::vector<T> x = integers<T>(A.n, 2);
  const std::vector<T> expected = A.times(x);
  // Lanes without an entry must not touch x at all: an entry that is not a number would show.
  x[0] = std::numeric_limits<T>::quiet_NaN();
  for (const way& w : ways()) {
    const auto offsets = on_place(w.where, A.offsets);
    const auto columns = on_place(w.where, A.columns);
    const auto entries = on_place(w.where, A.entries);
    const auto address = on_place(w.where, std::vector<const T*>{entries.data()});
    const auto x_there = on_place(w.where, x);
    for (const int lanes : {1, 2, 4, 8, 16, 32}) {
      INFO(w.name << ", " << lanes << " lanes, " << 8 * sizeof(Offset) << "-bit offsets");
      const whilst::csr_operator<T, Offset> there{A.n, offsets.data(), columns.data(), {address.data()}, lanes};
      CHECK((product(w, there, x_there) == expected));
    }
  }
}

/// Entry (i, j) of minus the Laplacian on a grid, from the points' coordinates alone.
double laplacian(index_type i, index_type j, const std::vector<index_type>& sizes) {
  index_type distance = 0;
  for (const index_type size : sizes) {
    distance += std::abs(i % size - j % size);
    i /= size;
    j /= size;
  }
  return distance == 0 ? 2.0 * static_cast<double>(sizes.size()) : distance == 1 ? -1.0 : 0.0;
}

template <class T, class Operator>
void check_laplacian(const Operator& A, const std::vector<index_type>& sizes) {
  const index_type n = A.rows();
  const std::vector<T> x = integers<T>(n, 5);
  std::vector<T> expected(static_cast<std::size_t>(n) + 1, 0);
  std::vector<T> unit(static_cast<std::size_t>(n), 0);
  for (index_type j = 0; j < n; ++j) {
    unit[static_cast<std::size_t>(j)] = 1;
    for (index_type i = 0; i < n; ++i) {
      const T entry = static_cast<T>(laplacian(i, j, sizes));
      REQUIRE(A.row(i, unit.data(), whilst::lanes()) == entry);
      if (i == j) REQUIRE(A.diagonal(i) == entry);
      expected[static_cast<std::size_t>(i)] += entry * x[static_cast<std::size_t>(j)];
    }
    unit[static_cast<std::size_t>(j)] = 0;
  }
  for (const way& w : ways()) {
    INFO(w.name);
    CHECK((product(w, A, on_place(w.where, x)) == expected));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("rows of every length, by any number of lanes", "[operators][sanitizer]", float, double) {
  check_csr<TestType, std::int32_t>();
  check_csr<TestType, std::int64_t>();
}

TEMPLATE_TEST_CASE("matrix-free Laplacians have the entries of assembled ones", "[operators]", float, double) {
  using poisson_2d = whilst::poisson_2d_operator<TestType>;
  using poisson_3d = whilst::poisson_3d_operator<TestType>;
  check_laplacian<TestType>(poisson_2d{1, 1}, {1, 1});
  check_laplacian<TestType>(poisson_2d{7, 1}, {7, 1});
  check_laplacian<TestType>(poisson_2d{1, 7}, {1, 7});
  check_laplacian<TestType>(poisson_2d{5, 8}, {5, 8});
  check_laplacian<TestType>(poisson_3d{1, 1, 1}, {1, 1, 1});
  check_laplacian<TestType>(poisson_3d{4, 3, 5}, {4, 3, 5});
  check_laplacian<TestType>(poisson_3d{1, 6, 2}, {1, 6, 2});
}

TEST_CASE("matrix-free Laplacians are those of the gallery", "[operators]") {
  const auto check = [](const auto& A, const char* name) {
    const auto assembled = whilst::make_gallery<double>(name).matrix;
    REQUIRE(A.rows() == assembled.rows());
    const std::vector<double> x = integers<double>(A.rows(), 4);
    const Eigen::VectorXd expected = to_eigen(assembled) * to_eigen(x);
    for (index_type i = 0; i < A.rows(); ++i) REQUIRE(A.row(i, x.data(), whilst::lanes()) == expected[i]);
  };
  check(whilst::poisson_2d_operator<double>{20, 20}, "poisson2d:20");
  check(whilst::poisson_3d_operator<double>{9, 9, 9}, "poisson3d:9");
}

TEST_CASE("the diagonal of a sparse matrix: duplicates added, zero where there is none", "[operators]") {
  const std::vector<std::int32_t> offsets{0, 3, 4, 4}, columns{0, 1, 0, 2};
  const std::vector<double> entries{1, 5, 2, 7}, second{10, 50, 20, 70};
  std::vector<double> both = entries;
  both.insert(both.end(), second.begin(), second.end());
  const double* const address = both.data();
  const whilst::csr_operator<double, std::int32_t> A{3, offsets.data(), columns.data(), {&address}, 1};
  CHECK(A.diagonal(0) == 3);
  CHECK(A.diagonal(1) == 0);
  CHECK(A.diagonal(2) == 0);
  // The second problem's values follow the first one's.
  CHECK(A.of_problem(1).diagonal(0) == 30);
  const std::vector<double> x{1, 2, 3};
  CHECK(A.row(0, x.data(), whilst::lanes()) == 13);
  CHECK(A.of_problem(1).row(1, x.data(), whilst::lanes()) == 210);
}

TEST_CASE("lanes for a row grow with its length, up to a warp", "[operators]") {
  // As few lanes as hold the row at once.
  for (const int lanes : {1, 2, 4, 8, 16}) {
    CHECK(whilst::lanes_for_row(lanes * whilst::entries_held) == lanes);
    CHECK(whilst::lanes_for_row(lanes * whilst::entries_held + 0.1) == 2 * lanes);
  }
  CHECK(whilst::lanes_for_row(0) == 1);
  CHECK(whilst::lanes_for_row(1e6) == 32);
}

}  // namespace whilst_test
