// Directories made by four threads.
import java.io.File;

public class Work {
  public static void main(String[] arguments) throws Exception {
    Thread[] threads = new Thread[4];
    int[] made = new int[threads.length];
    for (int t = 0; t < threads.length; t++) {
      final int me = t;
      threads[t] = new Thread(() -> {
        for (int i = 0; i < 50; i++) {
          if (new File(arguments[0], "d" + me + "-" + i).mkdir()) made[me]++;
        }
      });
      threads[t].start();
    }
    int sum = 0;
    for (int t = 0; t < threads.length; t++) {
      threads[t].join();
      sum += made[t];
    }
    System.out.println("directories " + sum);
  }
}
