// The pages of the methods: their examples run, and what they say of costs is what the program says.

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "solvers/linear/method_table.hpp"
#include "tests/catch.hpp"
#include "tests/documents/documents.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/options_text.hpp"

namespace whilst_test {
namespace {

/// The line of a document that begins so; empty if there is none.
std::string line_that_begins(const std::string& document, const std::string& with) {
  for (const std::string& line : lines_of(document))
    if (begins_with(line, with)) return line;
  return "";
}

}  // namespace

TEST_CASE("the page about preconditioners has settings and defaults as the code has them", "[shown]") {
  std::string page;
  for (const std::string& one : files_in("docs/preconditioners", ".md")) page += read(source_folder() / one);
  std::string options = whilst::options_to_string(whilst::linear_solver_options{});
  std::replace(options.begin(), options.end(), ',', '\n');
  // As the page writes it.
  const auto in_short = [](const std::string& value) {
    return value == "1e-04" ? "1e-4" : value.empty() ? "none" : value;
  };
  const std::map<std::string, int> expected{{"amg", 16},         {"multigrid", 4}, {"ilu", 6},     {"fsai", 5},
                                            {"block_jacobi", 4}, {"ssor", 2},      {"schwarz", 3}, {"chebyshev", 3},
                                            {"neumann", 3},      {"solve", 5}};
  std::map<std::string, int> settings;
  for (const std::string& option : lines_of(options)) {
    for (const auto& [of, count] : expected) {
      if (!begins_with(option, of + "_")) continue;
      INFO(option);
      const std::size_t begin = of.size() + 1, sign = option.find('=');
      const std::string name = option.substr(begin, sign - begin), value = in_short(option.substr(sign + 1));
      const std::string section =
          page.substr(page.find("## Settings of " + of + (of == "ilu" || of == "fsai" ? " " : "\n")));
      const std::string line = line_that_begins(section, "| `" + name + "` |");
      CHECK((line.find("| " + value + " |") != std::string::npos ||
             line.find("| `" + value + "` |") != std::string::npos));
      ++settings[of];
    }
  }
  CHECK(settings == expected);
}

TEST_CASE("the methods' examples solve", "[shown]") {
  const auto definite = whilst::make_gallery<double>("poisson2d:20").matrix;
  const auto indefinite = whilst::make_gallery<double>("helmholtz2d:20").matrix;
  const auto unsymmetric = convection_diffusion<double>(50);
  std::vector<double> b(400, 1.0), x(400);
  whilst::report report;
  const auto check = [&] {
    CHECK(report.converged());
    std::fill(x.begin(), x.end(), 0.0);
  };
  {
    const auto& A = definite;
    // shown: cg
    whilst::linear_solver<double> solver(A, {.method = "cg", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = definite;
    // shown: pipelined-cg
    whilst::linear_solver<double> solver(A, {.method = "pipelined-cg", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = definite;
    // shown: flexible-cg
    whilst::linear_solver<double> solver(A, {.method = "flexible-cg", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = definite;
    // shown: refined-cg
    whilst::linear_solver<double> solver(A, {.method = "refined-cg", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = indefinite;
    // shown: minres
    whilst::linear_solver<double> solver(A, {.method = "minres", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = definite;
    // shown: cr
    whilst::linear_solver<double> solver(A, {.method = "cr", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto A = whilst::make_gallery<double>("elasticity3d:2").matrix;
    b.assign(static_cast<std::size_t>(A.rows()), 1.0);
    x.assign(b.size(), 0.0);
    // shown: format
    whilst::linear_solver<double> solver(A, {.preconditioner = "jacobi", .format = "bsr"});
    report = solver.solve(b, x);
    std::printf("%s\n", report.format().c_str());  // bsr; by "auto", report.format_choice() also says why
    // end of shown
    check();
  }
  b.assign(50, 1.0);
  x.assign(50, 0.0);
  {
    const auto& A = unsymmetric;
    // shown: bicgstab
    whilst::linear_solver<double> solver(A, {.method = "bicgstab", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = unsymmetric;
    // shown: bicgstabl
    whilst::linear_solver<double> solver(A, {.method = "bicgstabl", .polynomial_degree = 4});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = unsymmetric;
    // shown: gmres
    whilst::linear_solver<double> solver(A, {.method = "gmres", .preconditioner = "jacobi", .restart = 50});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = unsymmetric;
    const auto M = [](whilst::stream_handle, whilst::index_type rows, const double* r, double* z) {
      for (whilst::index_type i = 0; i < rows; ++i) z[i] = r[i] / 3;
    };
    // shown: fgmres
    whilst::linear_solver<double> solver(A, M, {.method = "fgmres", .restart = 50, .callback_memory = "host"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = unsymmetric;
    // shown: idr
    whilst::linear_solver<double> solver(A, {.method = "idr", .preconditioner = "jacobi", .shadow_dimension = 8});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    const auto& A = unsymmetric;
    // shown: tfqmr
    whilst::linear_solver<double> solver(A, {.method = "tfqmr", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    triplets<double> dominant(50);
    for (int i = 0; i < 50; ++i) dominant.row({{i, 4}, {(i + 1) % 50, -1}});
    const auto A = dominant.matrix();
    // shown: cgs
    whilst::linear_solver<double> solver(A, {.method = "cgs", .preconditioner = "jacobi"});
    report = solver.solve(b, x);
    // end of shown
    check();
  }
  {
    triplets<double> dominant(50);
    for (int i = 0; i < 50; ++i) dominant.row({{(i + 49) % 50, -1}, {i, 4}, {(i + 1) % 50, -1}});
    const auto A = dominant.matrix();
    {
      // shown: chebyshev
      whilst::linear_solver<double> solver(A, {.method = "chebyshev", .preconditioner = "jacobi"});
      report = solver.solve(b, x);
      // end of shown
      check();
    }
    {
      // shown: richardson
      whilst::linear_solver<double> solver(A, {.method = "richardson", .preconditioner = "jacobi"});
      report = solver.solve(b, x);
      // end of shown
      check();
    }
  }
  {
    triplets<double> twice(50);
    for (int i = 0; i < 100; ++i) twice.row({{i % 50, 4}, {(i + 1) % 50, -1}});
    const whilst::csr_matrix<double> A(100, 50, twice.offsets, twice.columns, twice.values);
    const std::vector<double> of_columns = b;
    b = std::vector<double>(100, 1.0);
    b[7] = 2;
    {
      // shown: lsqr
      whilst::linear_solver<double> solver(A, {.method = "lsqr", .preconditioner = "jacobi"});
      report = solver.solve(b, x);  // b has an entry a row, x one a column
      // end of shown
      check();
    }
    {
      // shown: lsmr
      whilst::linear_solver<double> solver(A, {.method = "lsmr", .preconditioner = "jacobi"});
      report = solver.solve(b, x);  // b has an entry a row, x one a column
      // end of shown
      check();
    }
    {
      // shown: cgls
      whilst::linear_solver<double> solver(A, {.method = "cgls", .preconditioner = "jacobi"});
      report = solver.solve(b, x);  // b has an entry a row, x one a column
      // end of shown
      check();
    }
    b = of_columns;
  }
  b.resize(400, 1.0);
  x.resize(400);
  {
    const auto& A = indefinite;
    // shown: auto
    report = whilst::solve(A, b, x, {.method = "auto"});
    std::printf("%s\n", report.choice().c_str());  // cg, since ...; then minres, since cg ended with ...
    // end of shown
    CHECK(begins_with(report.choice(), "cg, since "));
    CHECK(report.choice().find("; then minres, since cg ended with ") != std::string::npos);
    check();
  }
}

TEST_CASE("tables and pages know every method and what it costs", "[shown]") {
  const std::vector<whilst::method_description> table = whilst::method_table();
  REQUIRE(table.size() == whilst::linear_methods<double>().size());
  const std::string overview = read(source_folder() / "docs/linear.md");
  for (std::size_t k = 0; k < table.size(); ++k) {
    const whilst::method_description& one = table[k];
    const std::string name = one.name;
    INFO(name);
    CHECK(name == whilst::linear_methods<double>()[k].name);
    CHECK(std::string(one.paper) != "");
    const std::string row = line_that_begins(overview, "| [`" + name + "`](methods/" + name + ".md) | ");
    CHECK(row.find(" | " + one.products.text() + " | " + one.vectors.text() + " | ") != std::string::npos);
    const std::string page = read(source_folder() / ("docs/methods/" + name + ".md"));
    CHECK(begins_with(page, "# " + name + "\n"));
    const std::string costs = std::string("| ") + one.matrix() + " | " + one.products.text() + " | " +
                              one.vectors.text() + " | " + (one.runs_in_kernel ? "yes" : "no") + " | ";
    CHECK(!line_that_begins(page, costs).empty());
  }
  CHECK(files_in("docs/methods", ".md").size() == table.size());
}

TEST_CASE("the vectors in the table of methods are those that a solver has", "[linear][methods]") {
  // What grows with the rows is vectors: five of the solve, the inverse of the diagonal, and those of the method.
  const auto bytes_of_vectors = [](const char* method, int rows) {
    const auto A = whilst::make_gallery<double>("poisson1d:" + std::to_string(rows)).matrix;
    const whilst::linear_solver<double> solver(A, {.method = method, .preconditioner = "jacobi", .executor = "host"});
    std::size_t bytes = 0;
    for (const whilst::memory_item& item : solver.memory().items)
      if (item.name == "vectors and scalars") bytes += item.bytes;
    return static_cast<double>(bytes);
  };
  for (const whilst::method_description& one : whilst::method_table()) {
    INFO(one.name);
    constexpr int rows = 65536;
    const double vectors = (bytes_of_vectors(one.name, 2 * rows) - bytes_of_vectors(one.name, rows)) / rows / 8;
    const int transpose = one.needs.transpose ? 3 : 0;  // its values
    // With jacobi they are in parts, which leave their products in memory.
    const int products = one.name == std::string("lsmr") || one.name == std::string("cgls") ? 2 : 0;
    // Half vectors, of float: p, q, r, M r, the inverse of the diagonal; and slices of poisson1d: three entries of 6
    // bytes a row, and 32 bytes for 32 rows.
    const double slices = (3 * 6 + 1) / 8.0;
    const double in_float = one.name == std::string("refined-cg") ? 5 * 0.5 + slices - 1 - one.vectors.value({}) : 0;
    // gmres keeps 63 sums for each piece of 512 rows, an eighth of a vector.
    CHECK(vectors == Approx(5 + 1 + transpose + products + one.vectors.value({}) + in_float).margin(0.15));
  }
}

}  // namespace whilst_test
