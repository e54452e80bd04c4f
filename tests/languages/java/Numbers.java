import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class Numbers {
    record Square(int n, int square) {}

    private static String member(String json, String key) {
        Matcher matcher = Pattern.compile("\"" + key + "\": *(\"[^\"]*\"|[0-9]+)").matcher(json);
        if (!matcher.find()) throw new IllegalArgumentException(key);
        return matcher.group(1);
    }

    public static void main(String[] args) throws Exception {
        if (args.length == 1 && args[0].equals("fail")) {
            System.err.println("no such thing: 42");
            System.exit(3);
        }
        if (args.length == 1 && args[0].equals("throw")) throw new IllegalStateException("thrown on purpose");
        String input = Files.readString(Path.of(System.getenv("WARDER_INPUT")));
        List<Integer> numbers = new BufferedReader(new InputStreamReader(System.in)).lines()
            .map(Integer::parseInt).sorted().collect(Collectors.toList());
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Future<Square>> futures = new ArrayList<>();
        for (int n : numbers) futures.add(pool.submit(() -> new Square(n, n * n)));
        TreeMap<Integer, Integer> squares = new TreeMap<>();
        for (Future<Square> future : futures) squares.put(future.get().n(), future.get().square());
        pool.shutdown();
        Files.writeString(Path.of("report.csv"), squares.entrySet().stream()
            .map(e -> e.getKey() + "," + e.getValue() + "\n").collect(Collectors.joining()));
        Files.createDirectory(Path.of("out"));
        Files.writeString(Path.of("out/large.txt"), "x".repeat(100000));
        int total = numbers.stream().mapToInt(Integer::intValue).sum();
        System.out.println("sum " + total);
        System.out.println(String.join("|", args));
        try (var result = new java.io.FileOutputStream(System.getenv("WARDER_RESULT"))) {
            result.write(("{\"scaled\": " + total * Integer.parseInt(member(input, "factor")) + ", \"name\": "
                + member(input, "name") + ", \"sorted\": " + numbers + "}").getBytes("UTF-8"));
        }
    }
}
