public class Numbers {
    public static void main(String[] args) {
        int n = "text";
    }
}
